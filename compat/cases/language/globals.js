// row: globals.global
export default function () {
  console.log(typeof global, global === globalThis, typeof globalThis.console, typeof __ENV, typeof setTimeout, typeof TextEncoder, typeof TextDecoder, typeof crypto, typeof open, typeof require);
  global.late = 1; console.log(late);
}

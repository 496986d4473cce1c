// row: globals.console
class Point { constructor() { this.x = 1; } }
export default function () {
  console.log(new Point(), Object.create(null), { toJSON() { return { own: true }; } });
  console.log({ undefined: undefined, fn() {}, nothing: null, nested: [undefined, () => 1] });
  console.log(new Map([[1, 2]]), new Set([1]));
  console.log(new Uint8Array([1, 2]), new Uint8Array([1, 2]).buffer);
  console.log(JSON.stringify({ a: [1, { b: null }], u: undefined }));
}

// row: globals.TextEncoder
export default function () {
  console.log(new TextEncoder().encode('až').join(), new TextDecoder().decode(new Uint8Array([97, 197, 190])));
}

// row: globals.console
export default function () {
  try { throw new Error('thrown'); } catch (e) { console.log(String(e), e.name, e.message, typeof e.stack); console.log(`${e}`); }
}

// row: modules.dynamic import
export default async function () {
  try { const lib = await import('./material/lib.js'); console.log(lib.value); } catch (e) { console.log('refused'); }
}

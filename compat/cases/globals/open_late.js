// row: globals.open
export default function () {
  try { open('./material/text.txt'); console.log('opened'); } catch (e) { console.log('refused'); }
}

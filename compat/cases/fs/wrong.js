// row: k6/experimental/fs
// lines: set
import fs from 'k6/experimental/fs';
const shown = (e) => [typeof e, e.name, e.message, String(e), e instanceof Error, Object.keys(e).sort().join()]
  .map((part) => String(part).replace(/"[^"]*\//, '"')).join(' | ');
const tell = (promise) => promise.then((value) => console.log('fulfilled', value), (e) => console.log(shown(e)));
for (const path of [undefined, null, '', './material/none.txt', './material', 7]) await tell(fs.open(path));
const file = await fs.open('file://material/letters.txt').catch(() => fs.open('./material/letters.txt'));
export default async function () {
  await tell(fs.open('./material/letters.txt'));
  for (const into of [undefined, null, 'x', [1], new ArrayBuffer(4), new Uint16Array(2)]) await tell(file.read(into));
  for (const pair of [[], [1], ['1', 0], [1.5, 0], [1, '0'], [1, 3], [-1, 0], [1, 2], [-1, 1], [11, 0], [-10, 2]]) await tell(file.seek(...pair));
}

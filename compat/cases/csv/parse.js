// row: k6/experimental/csv
import { open } from 'k6/experimental/fs';
import csv from 'k6/experimental/csv';
const all = [undefined, {}, { skipFirstLine: true }, { asObjects: true }, { fromLine: 2 }, { toLine: 1 }, { fromLine: 1, toLine: 2 }, { delimiter: ';' }];
const arrays = [];
for (const options of all) {
  const file = await open('./material/people.csv');
  arrays.push(options === undefined ? await csv.parse(file) : await csv.parse(file, options));
}
export default function () {
  arrays.forEach((array, place) => console.log(place, array.length, JSON.stringify(array)));
  try { arrays[0][0] = 1; } catch (e) { console.log(String(e)); }
  console.log(Object.isFrozen(arrays[3][0]), arrays[3][1].name);
}

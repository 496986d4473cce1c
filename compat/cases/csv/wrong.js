// row: k6/experimental/csv
// lines: set
import { open } from 'k6/experimental/fs';
import { parse, Parser } from 'k6/experimental/csv';
const tell = async (make) => {
  try { console.log('made', typeof await make()); } catch (e) { console.log(e instanceof Error, e.name, e.message, String(e)); }
};
const wrong = [{ delimiter: 'ab' }, { delimiter: '"' }, { skipFirstLine: true, asObjects: true }, { fromLine: 1, asObjects: true },
  { fromLine: -1 }, { toLine: -1 }, { fromLine: 2, toLine: 2 }, { fromLine: 9 }];
for (const options of wrong) {
  const file = await open('./material/people.csv');
  await tell(() => parse(file, options));
  await tell(() => new Parser(file, options));
}
await tell(() => parse({}));
for (const file of [undefined, null, {}]) await tell(() => new Parser(file));
await tell(async () => parse(await open('./material/broken.csv')));
await tell(() => new Parser());
const file = await open('./material/people.csv');
export default async function () {
  await tell(() => new Parser(file));
  await tell(() => parse(file, { toLine: 1 }));
}

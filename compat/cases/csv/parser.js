// row: k6/experimental/csv
import { open } from 'k6/experimental/fs';
import { Parser } from 'k6/experimental/csv';
const parser = new Parser(await open('./material/people.csv'), { skipFirstLine: true });
const objects = new Parser(await open('./material/people.csv'), { asObjects: true });
const broken = new Parser(await open('./material/broken.csv'));
const sorted = (value) => JSON.stringify(value, Array.isArray(value) ? undefined : Object.keys(value).sort());
export default async function () {
  console.log(Object.keys(parser).join());
  for (let round = 0; round < 5; round++) {
    const { done, value } = await parser.next();
    console.log(done, sorted(value));
  }
  const { done, value } = await objects.next();
  console.log(done, sorted(value));
  for (let round = 0; round < 5; round++) {
    await broken.next().then((row) => console.log(JSON.stringify(row)), (e) => console.log(typeof e, String(e), e.message));
  }
}

// row: k6/experimental/fs
import { open, SeekMode } from 'k6/experimental/fs';
const file = await open('./material/letters.txt');
const again = await open('material/../material/letters.txt');
const empty = await open('./material/empty.txt');
const text = (bytes) => String.fromCharCode(...bytes);
export default async function () {
  console.log(JSON.stringify(Object.entries(SeekMode).sort()), typeof file, Object.keys(file).sort().join());
  console.log(file.path.endsWith('/fs/material/letters.txt'), again.path === file.path, JSON.stringify(await file.stat()));
  const four = new Uint8Array(4);
  for (let count; (count = await file.read(four)) !== null;) console.log(count, text(four));
  console.log(await file.read(four), await file.seek(2, SeekMode.Start), await file.read(four), text(four));
  console.log(await file.seek(-3, SeekMode.Current), await file.seek(0, SeekMode.End), await file.read(four), text(four));
  console.log(await file.seek(-1, SeekMode.End), await file.seek(10, 0), await file.read(four), await file.seek(0, 0));
  const part = new Uint8Array(new ArrayBuffer(8), 4, 2);
  console.log(await file.read(part), text(new Uint8Array(part.buffer)), await file.read(new Uint8Array(0)));
  console.log(await again.read(four), text(four), await empty.read(four), JSON.stringify(await empty.stat()));
}

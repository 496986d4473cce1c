// row: k6/websockets
import { Blob } from 'k6/websockets';

export default async function () {
  for (const size of [0, 5, 1024, 1025, 3000]) {
    const stream = new Blob(['x'.repeat(size)]).stream();
    const reader = stream.getReader();
    const seen = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      seen.push(`${typeof value} ${value.length}`);
    }
    console.log(size, stream.locked, seen.join());
  }
  const { value } = await new Blob([new Uint8Array([255, 65, 200])]).stream().getReader().read();
  console.log(JSON.stringify(value), value.length);
}

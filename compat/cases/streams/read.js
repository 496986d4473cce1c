// row: k6/experimental/streams
import streams, { ReadableStream } from 'k6/experimental/streams';

const show = ({ done, value }) => `${done} ${typeof value} ${JSON.stringify(value)}`;
const all = async (stream) => {
  const reader = stream.getReader();
  const seen = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return seen;
    seen.push(value);
  }
};

export default async function () {
  console.log(Object.keys(streams).sort().join());
  const chunks = ['a', 5, { b: [1] }, null, undefined, new Uint8Array([1, 2])];
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  console.log(typeof stream, stream.locked);
  const reader = stream.getReader();
  console.log(stream.locked, stream.locked === true);
  for (let round = 0; round < chunks.length + 2; round++) console.log(show(await reader.read()));
  console.log(await reader.closed);
  console.log((await all(new ReadableStream({ start(c) { c.enqueue(chunks); c.close(); } })))[0] === chunks);

  // Reads that were asked for before there was anything.
  let push;
  const late = new ReadableStream({ start(controller) { push = controller; } }).getReader();
  const reads = [late.read(), late.read(), late.read()];
  push.enqueue('first');
  push.enqueue('second');
  push.close();
  console.log((await Promise.all(reads)).map(show).join(', '));

  // A source that is asked for more.
  let number = 0;
  const counted = new ReadableStream({ pull(controller) {
    number += 1;
    if (number > 4) controller.close();
    else controller.enqueue(number);
  } });
  console.log((await all(counted)).join(), number);
  const slow = new ReadableStream({
    async start() { await Promise.resolve(); },
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      controller.enqueue('later');
      controller.close();
    },
  });
  console.log((await all(slow)).join());
  const empty = new ReadableStream({ start(controller) { controller.close(); } });
  console.log(show(await empty.getReader().read()));
}

// row: k6/experimental/streams
import { ReadableStream, CountQueuingStrategy } from 'k6/experimental/streams';

const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
// What a source is asked for, how much it may queue, and what comes of it.
async function watch(name, strategy, reads) {
  const seen = [];
  let number = 0;
  const source = {
    start(controller) { seen.push(`start ${controller.desiredSize} ${this === source}`); },
    pull(controller) {
      number += 1;
      controller.enqueue(number);
      seen.push(`pull ${number} ${controller.desiredSize} ${this === source}`);
      if (number === 8) controller.close();
    },
  };
  const stream = strategy === undefined ? new ReadableStream(source) : new ReadableStream(source, strategy);
  await turn();
  const reader = stream.getReader();
  for (let read = 0; read < reads; read++) {
    seen.push((await reader.read()).value);
    await turn();
  }
  console.log(name, seen.join('; '));
}

export default async function () {
  await watch('usual', undefined, 2);
  await watch('three', { highWaterMark: 3 }, 2);
  await watch('none', { highWaterMark: 0 }, 2);
  await watch('half', { highWaterMark: 0.5 }, 1);
  await watch('text', { highWaterMark: 5, size: () => '2' }, 1);
  await watch('sizes', { highWaterMark: 6, size: (chunk) => chunk }, 2);
  await watch('zero sizes', { highWaterMark: 1, size: () => 0 }, 1);
  await watch('counted', new CountQueuingStrategy({ highWaterMark: 2 }), 1);
  await watch('endless', { highWaterMark: Infinity }, 3);

  let controller;
  const stream = new ReadableStream({ start(given) { controller = given; } }, { highWaterMark: 2 });
  const sizes = [controller.desiredSize];
  for (const chunk of ['a', 'b', 'c']) {
    controller.enqueue(chunk);
    sizes.push(controller.desiredSize);
  }
  controller.close();
  sizes.push(controller.desiredSize);
  const reader = stream.getReader();
  await reader.read();
  sizes.push(controller.desiredSize);
  await reader.read();
  await reader.read();
  sizes.push(controller.desiredSize);
  console.log(sizes.join());
  const failed = new ReadableStream({ start(given) { controller = given; given.error('x'); } });
  console.log(controller.desiredSize, failed.locked);
}

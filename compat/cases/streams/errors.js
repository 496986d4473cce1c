// row: k6/experimental/streams
import { ReadableStream } from 'k6/experimental/streams';

const tell = async (name, promise) => {
  try {
    const value = await promise;
    console.log(name, 'fulfilled', value?.done, value?.value);
  } catch (error) {
    console.log(name, 'rejected', typeof error, error instanceof Error, String(error), error?.message);
  }
};

export default async function () {
  const reasons = [new RangeError('broken'), 'text', 5, undefined, { name: 'own', message: 'object' }];
  for (const [place, reason] of reasons.entries()) {
    let controller;
    const stream = new ReadableStream({ start(given) { controller = given; } });
    controller.enqueue('lost');
    const reader = stream.getReader();
    await tell(`${place} before`, reader.read());
    const read = reader.read();
    controller.error(reason);
    await tell(`${place} waiting`, read);
    await tell(`${place} after`, reader.read());
    await tell(`${place} closed`, reader.closed);
    await tell(`${place} cancel`, reader.cancel());
    reader.releaseLock();
    await tell(`${place} next reader`, stream.getReader().closed);
  }
  await tell('start', new ReadableStream({ start: () => Promise.reject(new Error('bad start')) }).getReader().read());
  const later = async () => { await Promise.resolve(); throw new Error('late start'); };
  await tell('later', new ReadableStream({ start: later }).getReader().read());
  await tell('pull', new ReadableStream({ pull() { throw new Error('bad pull'); } }).getReader().read());
  await tell('pulled', new ReadableStream({ pull: () => Promise.reject('pull text') }).getReader().read());
  const sized = new ReadableStream({ pull(c) { c.enqueue(1); } }, { size: () => -1 });
  await tell('size', new Promise((resolve) => setTimeout(resolve, 1)));
  const reader = sized.getReader();
  await tell('size read', reader.read());
  await tell('size closed', reader.closed);
}

// row: k6/experimental/streams
import { ReadableStream, ReadableStreamDefaultReader } from 'k6/experimental/streams';

const tell = async (name, promise) => {
  try {
    console.log(name, promise instanceof Promise, 'fulfilled', String(await promise));
  } catch (error) {
    console.log(name, promise instanceof Promise, 'rejected', typeof error, error instanceof Error, String(error));
  }
};

export default async function () {
  const source = { cancel(...given) { console.log('cancel', given.length, String(given[0]), this === source); return 'x'; } };
  let stream = new ReadableStream(source);
  await tell('cancel', stream.cancel('enough'));
  await tell('again', stream.cancel('enough'));
  await tell('without', new ReadableStream(source).cancel());
  await tell('no function', new ReadableStream().cancel('a'));

  stream = new ReadableStream(source);
  const reader = stream.getReader();
  await tell('locked', stream.cancel('a'));
  const read = reader.read();
  await tell('by reader', reader.cancel('of reader'));
  await tell('read', read.then(({ done, value }) => `${done} ${value}`));
  await tell('closed', reader.closed);

  await tell('throws', new ReadableStream({ cancel() { throw new Error('no'); } }).cancel());
  await tell('throws text', new ReadableStream({ cancel() { throw 'text'; } }).cancel());
  await tell('rejects', new ReadableStream({ cancel: () => Promise.reject(new RangeError('not')) }).cancel());
  await tell('rejects later', new ReadableStream({ async cancel() { await 1; throw new Error('late'); } }).cancel());

  stream = new ReadableStream({ start(controller) { controller.enqueue('kept'); } });
  const first = stream.getReader();
  console.log(stream.locked, Object.keys(first).sort().join());
  console.log(first.releaseLock(), stream.locked, first.releaseLock());
  await tell('released read', first.read());
  await tell('released cancel', first.cancel());
  await tell('released closed', first.closed);
  const second = new ReadableStreamDefaultReader(stream);
  await tell('second', second.read().then(({ value }) => value));
  const waiting = second.read();
  second.releaseLock();
  await tell('waiting', waiting);

  const closed = new ReadableStream({ start(controller) { controller.close(); } });
  const third = closed.getReader();
  await tell('third closed', third.closed);
  third.releaseLock();
  await tell('third released', third.closed);
  const failed = new ReadableStream({ start(controller) { controller.error('gone'); } });
  await tell('failed', failed.cancel('a'));
}

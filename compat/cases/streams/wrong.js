// row: k6/experimental/streams
import { ReadableStream, ReadableStreamDefaultReader, CountQueuingStrategy } from 'k6/experimental/streams';

const tried = (name, make) => {
  try {
    const made = make();
    console.log(name, typeof made);
  } catch (error) {
    console.log(name, error instanceof Error, error instanceof TypeError, error instanceof RangeError, error.name,
      error.message);
  }
};

export default function () {
  for (const source of [null, 5, 'a', true, [], () => {}, new Date(0), {}, Object.create(null), undefined]) {
    tried(`source ${Object.prototype.toString.call(source)}`, () => new ReadableStream(source));
  }
  for (const type of ['bytes', 'x', '', null, undefined, 5]) {
    tried(`type ${type}`, () => new ReadableStream({ type }));
  }
  for (const name of ['start', 'pull', 'cancel']) {
    for (const value of [5, null, undefined, {}]) tried(`${name} ${value}`, () => new ReadableStream({ [name]: value }));
  }
  for (const highWaterMark of [-1, NaN, 'a', '5', null, undefined, true, Infinity, 0, 1.5, {}, -0.5]) {
    tried(`mark ${highWaterMark}`, () => new ReadableStream({}, { highWaterMark }));
    tried(`counted ${highWaterMark}`, () => new CountQueuingStrategy({ highWaterMark }).highWaterMark);
  }
  for (const size of [5, null, undefined, {}, () => 1]) tried(`size ${typeof size}`, () => new ReadableStream({}, { size }));
  for (const strategy of [5, null, undefined, 'a', [], true]) {
    tried(`strategy ${strategy}`, () => new ReadableStream({}, strategy));
  }
  tried('start throws', () => new ReadableStream({ start() { throw new RangeError('not today'); } }));
  tried('no strategy', () => new CountQueuingStrategy());
  tried('strategy of nothing', () => new CountQueuingStrategy({}));
  tried('strategy of a number', () => new CountQueuingStrategy(5));
  tried('two strategies', () => new CountQueuingStrategy({ highWaterMark: 1 }, 5));
  const strategy = new CountQueuingStrategy({ highWaterMark: 3 });
  console.log(Object.keys(strategy).join(), strategy.highWaterMark, strategy.size('a'));
  tried('reader of nothing', () => new ReadableStreamDefaultReader());
  tried('reader of an object', () => new ReadableStreamDefaultReader({}));
  const stream = new ReadableStream();
  tried('mode', () => stream.getReader({ mode: 'x' }));
  tried('byob', () => stream.getReader({ mode: 'byob' }));
  tried('mode of a number', () => stream.getReader(5));
  tried('mode null', () => stream.getReader({ mode: null }));
  tried('tee', () => stream.tee());
  tried('reader', () => new ReadableStreamDefaultReader(stream));
  tried('second reader', () => stream.getReader());
  tried('third reader', () => new ReadableStreamDefaultReader(stream));
  let controller;
  new ReadableStream({ start(given) { controller = given; } });
  controller.close();
  tried('closed twice', () => controller.close());
  tried('enqueued late', () => controller.enqueue(1));
  tried('error late', () => controller.error(1));
  const sizes = [() => -1, () => NaN, () => Infinity, () => 'a', () => { throw new Error('no size'); }];
  for (const [place, size] of sizes.entries()) {
    new ReadableStream({ start(given) { controller = given; } }, { size });
    tried(`size ${place}`, () => controller.enqueue(1));
    tried('and then', () => controller.enqueue(1));
    console.log(controller.desiredSize);
  }
}

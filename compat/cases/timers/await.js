// row: k6/timers, life cycle.async
// args: -i 2
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default async function () {
  await pause(5);
  for await (const v of (async function* () { yield 1; await pause(1); yield 2; })()) console.log(__ITER, v);
}

// row: k6/timers, life cycle.async
// args: -i 2
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default async function () {
  await pause(5);
  for (const v of [1, 2]) { await pause(v); console.log(__ITER, v); }
}

// row: life cycle.async
export default async function () {
  const failing = Promise.reject(new Error('x'));
  await Promise.resolve();
  failing.catch((e) => console.log('caught', e.message));
}

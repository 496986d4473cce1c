// row: life cycle.async
// args: -i 2
export default async function () {
  if (__ITER === 0) throw new Error('rejected');
  console.log('next');
}

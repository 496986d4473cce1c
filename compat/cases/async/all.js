// row: life cycle.async
export default async function () {
  console.log(JSON.stringify(await Promise.allSettled([1, Promise.reject(2)])));
  console.log(await Promise.any([Promise.reject(1), 2]), await Promise.race([3, new Promise(() => {})]));
  try { await Promise.all([Promise.reject(new Error('one'))]); } catch (e) { console.log(e.message); } finally { console.log('finally'); }
}

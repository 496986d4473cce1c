// row: k6/http.batch
// order: any
// Nothing is sent if one request cannot be made.
import http from 'k6/http';
const base = __ENV.BASE;
const lists = [
  [['GET']], [`${base}/get?n=1`, ['GET'], `${base}/get?n=2`], [{}], [{ method: 'GET' }], [[1, base]], [[null, base]], [{ method: 5, url: base }], [{ method: undefined, url: base }],
  [`${base}/get?n=3`, 'http://h/%zz'], [undefined], [`${base}/get?n=4`, ['POST', `${base}/post`, 5]], [['GET', 1]], [[]],
];
export default function () {
  for (const list of lists) {
    const rs = http.batch(list);
    console.log(JSON.stringify(list), rs.length, rs.map((r) => (r === null ? 'null' : `${r.status} ${r.error_code} ${r.error}`)).join(' | '));
  }
  const named = http.batch({ a: ['GET'] });
  console.log(Object.keys(named).join(), named.a.error);
  console.log(http.batch([]).length, http.batch([['get', `${base}/get?n=5`, 'x'], { method: 'get', url: `${base}/get?n=6`, body: 'x' }]).map((r) => r.status).join());
  for (const wrong of [() => http.batch(), () => http.batch([], []), () => http.batch(5), () => http.batch('x'), () => http.batch(null)]) {
    try { wrong(); console.log('nothing thrown'); } catch (e) { console.log(e.message); }
  }
}

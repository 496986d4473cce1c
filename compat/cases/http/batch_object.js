// row: k6/http.batch
// order: any
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const found = http.batch({ one: `${base}/get?n=1`, two: ['DELETE', `${base}/delete`], three: { url: `${base}/get` } });
  console.log(Object.keys(found).sort().join(), found.two.json('method'), found.one.json('args.n'));
}

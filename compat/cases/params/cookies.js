// row: params.cookies
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const own = (cookies) => sorted(http.get(`${base}/cookies`, { cookies }).json('cookies'));
  console.log(own({ a: 'b' }));
  console.log(own(undefined));
  http.get(`${base}/cookies/set?k=v`);
  console.log(own({ k: 'w' }));
  console.log(own({ k: { value: 'w', replace: true } }));
  console.log(own({ other: 'x' }));
}

// row: params.cookies
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const own = (cookies) => JSON.stringify(http.get(`${base}/cookies`, { cookies }).json('cookies'));
  console.log(own({ a: 'b' }));
  console.log(own(undefined));
  http.get(`${base}/cookies/set?k=v`);
  console.log(own({ k: 'w' }));
  console.log(own({ k: { value: 'w', replace: true } }));
  console.log(own({ other: 'x' }));
}

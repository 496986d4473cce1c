// row: request body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.post(`${base}/post`, { b: 'x y', a: 1, list: ['p', 'q'], yes: true, sign: '&=+%', uni: 'ž' });
  console.log(res.json('headers.Content-Type'), JSON.stringify(res.json('form')));
}

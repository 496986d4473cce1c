// row: k6/http.del
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.del(`${base}/delete?id=7`);
  console.log(res.status, res.json('method'), res.json('args.id'));
  http.del(`${base}/delete`, 'a body');
  http.del(`${base}/delete`, { a: 1 });
}

// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const res = sse.open(`${__ENV.BASE}/hang-up`, { method: 'POST' }, () => console.log('never'));
  console.log(res.error.replace(__ENV.BASE, 'BASE'), res.status);
}

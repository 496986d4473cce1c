// passed: 4
// failed: 0
// requests: GET /one, POST /two?x=1, PUT /three
import { check } from 'k6';
import { Get, Httpx, Post } from 'https://jslib.k6.io/httpx/0.1.0/index.js';

export default function () {
  const session = new Httpx({ baseURL: __ENV.BASE, headers: { 'X-One': '1' }, timeout: 5000 });
  session.addHeader('X-Two', '2');
  const [one] = session.batch([new Get('/one', { headers: { 'X-Own': 'own' } })], { headers: { 'X-All': 'all' } });
  check(one.json().headers, { 'headers of the request, the batch and the session': (sent) => `${sent['X-Own']} ${sent['X-All']} ${sent['X-One']} ${sent['X-Two']}` === 'own all 1 2' });
  session.clearHeader('X-One');
  const two = session.post('/two?x=1', { a: 'b' });
  check(two.json(), { 'an object is a form': (sent) => sent.body === 'a=b', 'a cleared header is gone': (sent) => sent.headers['X-One'] === undefined });
  const three = session.put(`${__ENV.BASE}/three`, 'text');
  check(three.json(), { 'a whole URL stays': (sent) => sent.body === 'text' });
  if (new Post('/x', 'body', { a: 1 }).body !== 'body') console.error('a request has its body');
}

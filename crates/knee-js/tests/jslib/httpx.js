// passed: 4
// failed: 0
// requests: GET /one, POST /two?x=1, PUT /three
import { check } from 'k6';
import { Get, Httpx, Post } from 'https://jslib.k6.io/httpx/0.1.0/index.js';

const REFUSED = [
  [
    (session) => session.request('GET'),
    'Invalid number of arguments for request(). Provide at least Method and URL.',
  ],
  [
    (session) => session.request('get', '/x'),
    'Invalid method: get. Expected one of GET,HEAD,POST,PUT,DELETE,CONNECT,OPTIONS,TRACE,PATCH',
  ],
];

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
  const given = { body: 'body', headers: { a: '1' } };
  const request = new Post('/x', given).addTag('t', 'v');
  const shown = JSON.stringify([request, given, session.lastRequest.responseObject.status]);
  const wanted = '[{"method":"POST","url":"/x","body":"body","params":{"headers":{"a":"1"},"tags":{"t":"v"}}},' +
    '{"headers":{"a":"1"},"tags":{"t":"v"}},200]';
  if (shown !== wanted) console.error(`${shown} instead of ${wanted}`);
  for (const [call, message] of REFUSED) {
    try {
      call(session);
      console.error(`nothing instead of ${message}`);
    } catch (error) {
      if (error.message !== message) console.error(`${error.message} instead of ${message}`);
    }
  }
}

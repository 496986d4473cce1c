// passed: 21
import { check } from 'k6';
import http from 'k6/http';

const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return String(error);
  }
};
const none = 'GoError: the body is null so we can\'t transform it to JSON - this likely was because of a request error getting the response';
const wrong = 'GoError: cannot parse json due to an error at';

export default function () {
  const fetch = (params) => http.get(`${__ENV.BASE}/json`, params);
  const body = (text) => Object.assign(fetch(), { body: text });
  const response = fetch();
  check(response, {
    'all of it': (r) => r.json().a.b[2].c === 'deep',
    'changes stay': (r) => (r.json().more = 1) === r.json().more,
    'a key': (r) => r.json('ok') === true,
    'a path': (r) => r.json('a.b.2.c') === 'deep',
    'how many': (r) => r.json('a.b.#') === 3,
    'a query': (r) => r.json('a.b.#(>10)') === 20,
    'a path for each': (r) => r.json('a.b.#.c').join() === 'deep',
    'a modifier': (r) => r.json('a.b|@reverse|0.c') === 'deep',
    'several paths': (r) => r.json('{ok,"n":a.b.#}').ok && r.json('{ok,"n":a.b.#}').n === 3,
    'a path that leads nowhere': (r) => r.json('nope') === undefined,
    'a path that is no text': (r) => r.json(5) === undefined && r.json(undefined) === undefined,
    'an object is an object': (r) => r.json('a') instanceof Object && Array.isArray(r.json('a.b')),
  });
  check(null, {
    'bytes': () => fetch({ responseType: 'binary' }).json('a.b.0') === 10,
    'a body that was dropped': () => thrown(() => fetch({ responseType: 'none' }).json()) === none,
    'no answer': () => thrown(() => http.get('http://127.0.0.1:1/').json('a')) === none,
    'a body that was replaced': () => body('{"x":1}').json('x') === 1,
    'no JSON has no paths': () => body('{bad').json('bad') === undefined,
    'what is wrong is said': () =>
      thrown(() => body('{bad').json()) ===
      `${wrong} line 1, character 2 , error: invalid character 'b' looking for beginning of object key string`,
    'nothing at all': () =>
      thrown(() => body('').json()) === `${wrong} line 1, character 0 , error: unexpected end of JSON input`,
    'a number as a body': () =>
      thrown(() => body(5).json('a')) === 'GoError: invalid type int64, expected string, []byte or ArrayBuffer',
    'numbers that JSON does not have': () => Number.isNaN(response.json('!nan')),
  });
}

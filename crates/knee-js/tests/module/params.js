// passed: 19
import { check } from 'k6';
import http from 'k6/http';

const url = `${__ENV.BASE}/json`;
const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return String(error);
  }
};
// An answer that was never asked for: no status, no number, no URL, and the reason.
const refused = (params, words) => {
  const response = http.get(url, params);
  return response.status === 0 && response.error === words && response.error_code === 0 && response.url === '' && response.request === null;
};

export default function () {
  const response = http.get(url);
  check(response, {
    'who answered': (r) => r.remote_ip === '127.0.0.1' && url.includes(`:${r.remote_port}/`),
    'without TLS': (r) => r.tls_version === '' && r.tls_cipher_suite === '',
    'the protocol': (r) => r.proto === 'HTTP/1.1',
    'what was sent': (r) => r.request.method === 'GET' && r.request.url === url && r.request.body === '' && r.request.headers['User-Agent'].length === 1,
    'ocsp': (r) => r.ocsp.status === '' && r.ocsp.produced_at === 0,
  });
  const sent = http.request('PUT', url, 'text', { headers: { 'x-a': '1' }, cookies: { c: 'd' } }).request;
  const gone = http.get('http://127.0.0.1:1/');
  check(null, {
    'headers that were sent': () => sent.headers['X-A'].join() === '1' && sent.headers.Cookie.join() === 'c=d' && sent.body === 'text',
    'cookies that were sent': () => sent.cookies.c[0].name === 'c' && sent.cookies.c[0].value === 'd',
    'nobody there': () => gone.error === 'dial: connection refused' && gone.error_code === 1212 && gone.remote_ip === '' && gone.body === null,
    'nobody there, thrown': () => thrown(() => http.get('http://127.0.0.1:1/', { throw: true })) === 'GoError: Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused',
    'no URL': () => http.get('ftp://x/').error === 'unsupported protocol scheme "ftp"' && http.get('ftp://x/').url === 'ftp://x/' && http.get('x').error_code === 1000,
    'an unknown compression': () => refused({ compression: 'bogus' }, 'unknown compression algorithm bogus, supported algorithms are [gzip deflate zstd br]'),
    'an unknown response type': () => refused({ responseType: 'bogus' }, 'bogus does not belong to ResponseType values'),
    'a timeout that is none': () => refused({ timeout: 'soon' }, 'invalid timeout value: time: invalid duration "soon"') && refused({ timeout: true }, 'invalid timeout value: unable to use type bool as a duration value'),
    'a callback that is none': () => refused({ responseCallback: 5 }, 'unsupported responseCallback'),
    'tags that are none': () => refused({ tags: { a: {} } }, "invalid HTTP request metric tags: invalid value for metric tag 'a': only String, Boolean and Number types are accepted as a metric tag values"),
    'params that are none': () => http.get(url, 5).status === 200 && http.get(url, { headers: null, cookies: null, jar: 5, redirects: 'x' }).status === 200,
    'a body that is none': () => http.post(url, 5).error === 'unknown request body type int64',
    'errors of arguments': () => thrown(() => http.batch(5)) === 'GoError: invalid http.batch() argument type int64' && thrown(() => http.expectedStatuses()) === 'GoError: no arguments',
    'callbacks are no functions': () => thrown(() => http.setResponseCallback(5)) === 'GoError: unsupported argument, expected http.expectedStatuses',
  });
}

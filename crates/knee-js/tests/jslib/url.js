// passed: 0
// failed: 0
import { URL, URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';

const same = (found, expected) => {
  if (String(found) !== String(expected)) console.error(`${found} instead of ${expected}`);
};

export default function () {
  same([globalThis.URL === URL, globalThis.URLSearchParams === URLSearchParams].join(), 'true,true');
  const url = new URL('HTTPS://me:pw@Example.com:8443/a/../b c?x=1&y=a%20b#frag');
  same(url, 'https://me:pw@example.com:8443/b%20c?x=1&y=a%20b#frag');
  same([url.origin, url.host, url.pathname, url.search, url.hash, url.username].join(' '), 'https://example.com:8443 example.com:8443 /b%20c ?x=1&y=a%20b #frag me');
  url.searchParams.append('z', '\u00e9 &');
  same(url.search, '?x=1&y=a+b&z=%C3%A9+%26');
  url.pathname = '/new';
  url.port = '';
  same(url.href, 'https://me:pw@example.com/new?x=1&y=a+b&z=%C3%A9+%26#frag');
  same(new URL('../x?q', 'https://h/a/b/c'), 'https://h/a/x?q');
  same(new URL('http://h:80').href, 'http://h/');
  for (const [text, message] of [['nope', 'scheme'], ['http://a:x', 'port'], ['http://a:99999', 'port'], ['http://', 'host']]) {
    let failure = '';
    try {
      new URL(text);
    } catch (error) {
      failure = `${error.name}: ${error.message}`;
    }
    same(failure, `TypeError: Invalid ${message}`);
  }
  const params = new URLSearchParams([['a', '1'], ['b', '2'], ['a', '3']]);
  same(params.getAll('a'), '1,3');
  params.set('a', '9');
  params.delete('b');
  same(params, 'a=9');
  same(JSON.stringify({ url: new URL('https://h/') }), '{"url":"https://h/"}');
}

// row: k6/http.url, response.url
// What is sent, what a response shows, and the tags.
import http from 'k6/http';
const base = __ENV.BASE;
export const options = {
  thresholds: {
    [`http_reqs{url:${base}}`]: ['count==1'],
    [`http_reqs{name:${base}}`]: ['count==1'],
    [`http_reqs{url:${base}/}`]: ['count==1'],
    [`http_reqs{name:${base}/anything/a/../b}`]: ['count==1'],
    [`http_reqs{url:${base}/anything/%5C%7C%5E}`]: ['count==1'],
  },
};
const paths = [
  '', '/', '?a=1', '/anything/a/../b', '/anything/./a//b', '/anything/a b', '/anything/\\|^', '/anything/{a}"<>`', "/anything/!$&'()*+,;=:@[]",
  '/anything/%41%2f%7e', '/anything/%41 %2f', '/anything/ü', '/anything?', '/anything??', '/anything?a=|^\\&b={}%zz', '/anything#a b', '/anything?a#?b#c',
];
export default function () {
  for (const path of paths) {
    const r = http.get(`${base}${path}`);
    console.log(path, r.status, r.error_code, r.url, r.request.url);
  }
}

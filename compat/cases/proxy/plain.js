// row: environment.HTTP_PROXY
// env: HTTP_PROXY=http://{proxy}
import http from 'k6/http';
export default function () {
  const first = http.get('http://service.test/get?a=1', { headers: { 'X-A': 'b' } });
  console.log(first.status, first.url, first.request.url, first.remote_ip, first.error_code);
  const posted = http.post('http://other.test:81/post', { a: 'b' });
  console.log(posted.status, posted.json('form.a'));
  const host = http.get('http://service.test/get', { headers: { Host: 'virtual.test' } });
  console.log(host.status, http.get('http://service.test/status/503').error_code);
}

// row: environment.HTTP_PROXY
// env: HTTP_PROXY=http://{proxy}
import http from 'k6/http';
export default function () {
  const answer = http.get(`http://service.test/redirect-to?url=${encodeURIComponent('http://other.test/get?b=1')}`);
  console.log(answer.status, answer.url);
  const back = http.get(`http://service.test/redirect-to?url=${__ENV.BASE}/get?c=1`);
  console.log(back.status, back.url);
}

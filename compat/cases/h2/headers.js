// row: http2
import http from 'k6/http';
export default function () {
  const headers = { Host: 'other.test', 'X-Own': 'value', 'x-small': 'a', Connection: 'keep-alive', 'User-Agent': 'own' };
  const answer = http.get(`${__ENV.TLS_2}/headers`, { headers });
  const seen = answer.json('headers');
  console.log(answer.proto, seen['X-Own'], seen['X-Small'], seen['User-Agent'], seen.Host, seen.Connection);
}

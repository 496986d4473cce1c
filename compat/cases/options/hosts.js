// row: options.hosts
import http from 'k6/http';
const port = __ENV.BASE.split(':').pop();
export const options = { hosts: { 'my.example': '127.0.0.1', 'with.port:80': `127.0.0.1:${port}`, '*.wild.example': '127.0.0.1' } };
export default function () {
  console.log(http.get(`http://my.example:${port}/get`).status, http.get('http://with.port/get').status, http.get(`http://a.wild.example:${port}/get`).status);
}

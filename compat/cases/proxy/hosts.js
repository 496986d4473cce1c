// row: environment.HTTP_PROXY, options.hosts
// env: HTTP_PROXY=http://proxy.test:80
// env: PROXY={proxy}
import http from 'k6/http';
export const options = {
  hosts: { 'proxy.test': __ENV.PROXY, 'service.test': '127.0.0.1:1' },
  blockHostnames: ['service.test'],
};
export default function () {
  const answer = http.get('http://service.test/get');
  console.log(answer.status, answer.error_code, answer.remote_ip);
}

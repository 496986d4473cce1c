// row: environment.HTTP_PROXY, options.blockHostnames, options.blacklistIPs
// env: HTTP_PROXY=http://proxy.test:80
// env: HTTPS_PROXY=http://{proxy}
import http from 'k6/http';
export const options = { blockHostnames: ['proxy.test'], blacklistIPs: ['127.0.0.0/8'] };
export default function () {
  for (const url of ['http://service.test/get', 'https://service.test/get']) {
    const answer = http.get(url);
    console.log(answer.status, answer.error_code, answer.error);
  }
}

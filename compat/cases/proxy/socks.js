// row: environment.HTTP_PROXY, environment.HTTPS_PROXY
// env: HTTP_PROXY=socks5://{proxy}
// env: HTTPS_PROXY=socks5h://u:w@{proxy}
import http from 'k6/http';
export const options = { insecureSkipTLSVerify: true };
export default function () {
  for (const url of ['http://service.test/get', 'http://10.9.8.7:81/get', 'https://service.test:8443/get', 'http://refused.test/get', 'https://refused.test/get']) {
    const answer = http.get(url);
    console.log(answer.status, answer.proto, answer.error_code, answer.error);
  }
}

// row: environment.HTTPS_PROXY
// env: HTTPS_PROXY={proxy}
import http from 'k6/http';
export const options = { insecureSkipTLSVerify: true };
export default function () {
  for (const url of ['https://service.test/get', 'https://service.test:443/get?n=2', 'https://service.test:8443/get', 'https://other.test/get']) {
    const answer = http.get(url);
    console.log(answer.status, answer.proto, answer.tls_version, answer.remote_ip);
  }
}

// row: options.tlsAuth
import http from 'k6/http';
export const options = {
  hosts: { 'one.localhost': '127.0.0.1', 'other.test': '127.0.0.1' }, insecureSkipTLSVerify: true,
  tlsAuth: [{ cert: __ENV.CLIENT_CERT, key: __ENV.CLIENT_KEY, domains: ['one.localhost'] }],
};
export default function () {
  for (const host of ['one.localhost', 'other.test', '127.0.0.1']) {
    const res = http.get(`${__ENV.TLS_CLIENT.replace('127.0.0.1', host)}/get?${host}`);
    console.log(host, res.status, res.error_code);
  }
}

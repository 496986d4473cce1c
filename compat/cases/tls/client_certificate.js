// row: options.tlsAuth
import http from 'k6/http';
export const options = { tlsAuth: [{ cert: __ENV.CLIENT_CERT, key: __ENV.CLIENT_KEY }] };
export default function () {
  console.log(http.get(`${__ENV.TLS_CLIENT}/get`).status, http.get(`${__ENV.TLS}/get`).status);
}

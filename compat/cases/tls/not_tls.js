// row: error codes
import http from 'k6/http';
export default function () {
  const plain = http.get(`${__ENV.TLS_NONE}/get`);
  console.log(plain.status, plain.error_code, plain.error, plain.body);
  const refused = http.get(`${__ENV.TLS_CLIENT}/get`);
  console.log(refused.status, refused.error_code, refused.error);
}

// row: environment.HTTP_PROXY
// env: HTTP_PROXY=http://a%zz
import http from 'k6/http';
export const options = { hosts: { 'service.test': __ENV.BASE.replace('http://', '') } };
export default function () {
  console.log(http.get('http://service.test/get').status);
}

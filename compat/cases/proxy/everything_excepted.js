// row: environment.NO_PROXY
// env: HTTP_PROXY=http://{proxy}
// env: NO_PROXY=x.test,*
import http from 'k6/http';
export const options = { hosts: { 'a.test': __ENV.BASE.replace('http://', '') } };
export default function () {
  console.log(http.get('http://a.test/get').status);
}

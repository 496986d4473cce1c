// row: params.auth
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const url = base.replace('http://', 'http://user:pass@');
  console.log(http.get(`${url}/basic-auth/user/pass`).status);
  console.log(http.get(`${url}/basic-auth/user/other`).status);
  console.log(http.get(`${url}/hidden-basic-auth/user/pass`, { auth: 'basic' }).json('authenticated'));
}

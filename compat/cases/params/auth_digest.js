// row: params.auth
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const url = base.replace('http://', 'http://user:pass@');
  const res = http.get(`${url}/digest-auth/auth/user/pass`, { auth: 'digest' });
  console.log(res.status, res.json('user'));
  console.log(http.get(`${url}/digest-auth/auth/user/wrong`, { auth: 'digest' }).status);
}

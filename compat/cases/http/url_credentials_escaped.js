// row: k6/http.url, params.auth
import http from 'k6/http';
const base = __ENV.BASE;
const host = base.slice('http://'.length);
export const options = { thresholds: { [`http_reqs{url:http://****:****@${host}/anything}`]: ['count==1'], [`http_reqs{url:http://****@${host}/anything}`]: ['count==1'] } };
export default function () {
  for (const user of ['a%40b:p%3Aw@', 'a@b@']) {
    const r = http.get(`http://${user}${host}/anything`);
    console.log(user, r.status, r.url, r.request.url, r.json('headers').Authorization);
  }
}

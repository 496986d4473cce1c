// row: k6/http.url, params.auth, response.url
import http from 'k6/http';
const base = __ENV.BASE;
const host = base.slice('http://'.length);
export const options = {
  thresholds: {
    [`http_reqs{url:http://****:****@${host}/anything}`]: ['count==1'],
    [`http_reqs{url:http://****@${host}/anything}`]: ['count==2'],
  },
};
export default function () {
  for (const user of ['ann:pw@', 'ann@', '@', ':pw@']) {
    const r = http.get(`http://${user}${host}/anything`);
    console.log(user, r.status, r.url, r.request.url);
  }
  console.log(http.get(`http://ann:pw@${host}/relative-redirect/1`).url);
  console.log(http.get(`http://ann:pw@${host}/absolute-redirect/1`).url);
  const made = http.url`http://ann:pw@${host}/anything/${1}`;
  console.log(made.url, made.clean_url, made.name, http.url`http://ann:pw@h/`.name);
}

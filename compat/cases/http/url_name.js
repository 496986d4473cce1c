// row: k6/http.url
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const made = http.url`http://x/${1}/y/${'z'}`;
  console.log(made.url, made.name, http.get(http.url`${base}/anything/${7}`).status);
}

// row: response.clickLink
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const page = http.get(`${base}/links`);
  console.log(page.clickLink().url, page.clickLink({ selector: '.second' }).url);
  console.log(page.clickLink({ selector: 'a', params: { headers: { 'X-Own': 'yes' } } }).status);
  page.clickLink({ selector: '.missing' });
}

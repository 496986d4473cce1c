// row: response.json
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/json`);
  console.log(r.json().slides.length, r.json('title'), r.json('count') + 1, r.json('ratio'), r.json('yes'), r.json('nothing'), r.json('missing'));
  console.log(sorted(r.json('slides')));
  console.log(typeof r.json('slides.0'), Array.isArray(r.json('slides')));
}

// row: response.json
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/json`);
  const paths = [
    'slides.0.title', 'slides.1.tags', 'slides.#', 'slides.#.title', 'slides.2.deep.er.1.0', 'slides.9', 'dotted\\.name',
    'slides.#(title=="two").price', 'slides.#(price>10)#.title', 'slides.#(price>10).title', 'slides.#.tags.#', 't*le', 'slides.@reverse.0.title',
    'slides.#(title%"t*")#.price', 'slides.#(title!="one")#|#', '@this.count', 'slides.0.tags|0', '{title,count}', '[title,count]', 'slides.#.tags|@flatten',
  ];
  for (const path of paths) console.log(path, sorted(r.json(path)));
}

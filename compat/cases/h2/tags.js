// row: http2
// args: --out csv={out}/all.csv
// samples: all.csv
import http from 'k6/http';
export default function () {
  http.get(`${__ENV.TLS_2}/get`, { tags: { own: 'tag' } });
}

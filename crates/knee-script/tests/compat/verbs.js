// exit: 0
// requests: GET /1, HEAD /2, POST /3, PUT /4, PATCH /5, DELETE /6, OPTIONS /7, propfind /8, GET /1, HEAD /2, POST /3, PUT /4, PATCH /5, DELETE /6, OPTIONS /7, propfind /8
// passed: 0
// failed: 0
// iterations: 2
import http from 'k6/http';
export const options = { iterations: 2 };
export default function () {
  http.get(__ENV.BASE + '/1'); http.head(__ENV.BASE + '/2'); http.post(__ENV.BASE + '/3', 'x'); http.put(__ENV.BASE + '/4');
  http.patch(__ENV.BASE + '/5'); http.del(__ENV.BASE + '/6'); http.options(__ENV.BASE + '/7'); http.request('propfind', __ENV.BASE + '/8');
}

// row: options.throw
// args: -i 2
import http from 'k6/http';
export const options = { throw: true };
export default function () {
  if (__ITER === 0) { try { http.get('http://127.0.0.1:1/'); } catch (e) { console.log('caught'); } return; }
  console.log(http.get('http://127.0.0.1:1/', { throw: false }).error_code);
}

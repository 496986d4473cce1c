// row: k6/http.asyncRequest, params.throw
import http from 'k6/http';
export default async function () {
  try {
    await http.asyncRequest('GET', 'http://127.0.0.1:1/', null, { throw: true });
  } catch (e) {
    console.log('rejected', e.name);
  }
  const res = await http.asyncRequest('GET', 'http://127.0.0.1:1/');
  console.log(res.status, res.error_code);
}

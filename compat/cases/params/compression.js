// row: params.compression
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const body = 'text that is the same, text that is the same, text that is the same';
  for (const compression of ['gzip', 'deflate']) {
    const res = http.post(`${base}/post`, body, { compression });
    console.log(res.status, res.json('headers.Content-Encoding'));
  }
}

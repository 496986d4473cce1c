// row: error codes, k6/http.url
import http from 'k6/http';
const urls = [
  'http://127.0.0.1:1/\r\nX: y', ' http://127.0.0.1:1/', 'http://127.0.0.1:1/%', 'http://127.0.0.1:1/%zz', 'http://127.0.0.1:1/#%zz', 'http://h:p/', 'http://a b/',
  'http://a|b/', 'http://h\\a/', 'http://a%20b/', 'http://u p@h/', 'http://[::1/', 'http://[127.0.0.1]/', 'http://a:1:2/', ':a', 'nonsense', '//127.0.0.1/', 'http:/a',
  'http:a', 'http://', 'http://127.1:1/', 'http://2130706433:1/', 'http://0x7f.1:1/', 'http://user:pw@127.0.0.1:1/a b', 'ftp://user:pw@h/x', 'http://127.0.0.1:66000/',
];
export default function () {
  for (const url of urls) {
    const r = http.get(url);
    console.log(JSON.stringify(url), r.status, r.error_code, r.error, r.url);
  }
  for (const url of [undefined, null, 5, true]) {
    const r = http.get(url);
    console.log(String(url), r.status, r.error_code, r.error, JSON.stringify(r.request));
  }
  try { console.log(http.url`http://${'h'}/%zz`.url); } catch (e) { console.log('thrown', e.message); }
}

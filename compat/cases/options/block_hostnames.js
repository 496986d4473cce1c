// row: options.blockHostnames
import http from 'k6/http';
export const options = { blockHostnames: ['blocked.example', '*.blocked.example'] };
export default function () {
  for (const host of ['blocked.example', 'a.blocked.example']) { const r = http.get(`http://${host}/`); console.log(r.status, r.error_code); }
}

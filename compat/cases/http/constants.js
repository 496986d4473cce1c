// row: k6/http.constants
import http from 'k6/http';
export default function () {
  const names = Object.keys(http).filter((name) => /^[A-Z0-9_]+$/.test(name)).sort();
  console.log(names.map((name) => `${name}=${http[name]}`).join(' '));
}

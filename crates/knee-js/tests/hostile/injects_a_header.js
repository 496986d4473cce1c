// says: unharmed
// iterations: 1
import http from 'k6/http';
export default function () {
  const r = http.get(__ENV.BASE + '/', { headers: { a: '1\r\nEvil: 2' } });
  if (!('Evil' in r.json().headers)) console.log('unharmed');
}

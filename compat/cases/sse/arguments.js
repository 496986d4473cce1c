// row: k6/x/sse
import sse from 'k6/x/sse';
const url = `${__ENV.BASE}/sse/count/1`;
const attempts = {
  'no function': () => sse.open(url),
  'only params': () => sse.open(url, {}),
  'function and more': () => sse.open(url, () => {}, {}),
  'too many': () => sse.open(url, {}, () => {}, 1),
  'no url': () => sse.open(),
  'text as params': () => sse.open(url, 'x', () => {}),
  'number as params': () => sse.open(url, 7, () => {}),
  'unknown params': () => sse.open(url, { what: 1 }, () => {}),
  'bad tags': () => sse.open(url, { tags: { a: {} } }, () => {}),
  'bad handler': () => sse.open(url, (client) => { client.on('event', 7); client.on('nothing', () => {}); client.on(); }),
};
export default function () {
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      console.log(name, attempt().status);
    } catch (e) {
      console.log(name, 'threw', e);
    }
  }
}

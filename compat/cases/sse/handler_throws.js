// row: k6/x/sse
import sse from 'k6/x/sse';
export const options = { iterations: 2 };
export default function () {
  if (__ITER === 0) {
    try {
      sse.open(`${__ENV.BASE}/sse/count/3`, (client) => { client.on('event', () => { throw new Error('mine'); }); });
    } catch (e) { console.log('caught', e.message); }
  }
  sse.open(`${__ENV.BASE}/sse/count/3`, () => { throw new Error('in set-up'); });
}

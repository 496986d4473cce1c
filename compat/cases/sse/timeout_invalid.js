// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  for (const timeout of ['soon', 5, '5', '-1s', '0', true]) {
    try {
      console.log(timeout, sse.open(`${__ENV.BASE}/sse/count/1`, { timeout }, () => {}).status);
    } catch (e) {
      console.log(timeout, 'threw', e);
    }
  }
  console.log(sse.open(`${__ENV.BASE}/sse/count/1`, { timeout: null }, () => {}).status);
}

// row: k6/x/sse
import sse from 'k6/x/sse';
export const options = { throw: true };
export default function () {
  try {
    sse.open('http://127.0.0.1:1/x', () => console.log('never'));
  } catch (e) {
    console.log('threw', e);
  }
}

// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  console.log(sse.open('ftp://127.0.0.1/x', () => {}).error);
}

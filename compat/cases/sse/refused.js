// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const res = sse.open('http://127.0.0.1:1/x', (client) => {
    console.log('never');
    client.on('error', () => console.log('never'));
  });
  console.log(JSON.stringify(res));
}

// row: grpc.invoke, grpc.constants
import grpc from 'k6/net/grpc';
import { check } from 'k6';
// Uses of a status that scripts make. It is an object of k6's language in k6, so what its text is and what `===` a number says are not compared.
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const answer = client.invoke('shop.Shop/Fail', { code: 5 });
  const { status } = answer;
  console.log(status === grpc.StatusNotFound, status == grpc.StatusNotFound, status == 5, status !== grpc.StatusOK, status > 3, +status, status + 1, 'text ' + status);
  console.log(JSON.stringify(status), JSON.stringify({ status }), [grpc.StatusOK, grpc.StatusNotFound].includes(status), [grpc.StatusNotFound].indexOf(status));
  switch (status) { case grpc.StatusNotFound: console.log('switch'); break; default: console.log('default'); }
  console.log(answer.error.code, typeof answer.error.code, answer.error.code === 5, answer.error.code == grpc.StatusNotFound);
  console.log(check(answer, { 'not found': (r) => r.status === grpc.StatusNotFound }));
}

// What the workloads over gRPC share: the door, which the first one names, and a connection for each user.
import grpc from 'k6/net/grpc';
import http from 'k6/http';
import { check, fail } from 'k6';
import { base } from './mix.js';

export { users } from './mix.js';

const client = new grpc.Client();
client.load(['../proto'], 'todos.proto');
let isConnected = false;

// Where gRPC is: GRPC says it, or the service itself.
export function door() {
  if (__ENV.GRPC) return __ENV.GRPC;
  const answer = http.get(`${base}/grpc`);
  if (answer.status !== 200) fail('the service does not serve gRPC: --grpc-listen opens it');
  return answer.body;
}

export function connected(door) {
  if (!isConnected) client.connect(door, { plaintext: true });
  isConnected = true;
  return client;
}

// A call whose answer the script does not read, as the lists over HTTP are not read.
export function call(door, name, message, tag) {
  const answer = connected(door).invoke(`todos.v1.Todos/${name}`, message, {
    discardResponseMessage: true,
    tags: { name: tag },
  });
  check(answer, { 'it is OK': (answer) => answer.status === grpc.StatusOK });
}

// The readers of changes_sse.js over gRPC: each has one connection, and one stream after another on it.
import grpc from 'k6/net/grpc';
import { check } from 'k6';
import { connected, door } from './calls.js';
import { arrived, changes, readersAndWriter } from './changes.js';

export { write } from './changes.js';
export const options = readersAndWriter();

export function setup() {
  return door();
}

export function read(door) {
  const stream = new grpc.Stream(connected(door), 'todos.v1.Todos/Watch', { tags: { name: 'changes' } });
  let seen = 0;
  stream.on('data', (change) => {
    seen += 1;
    arrived(change.todo.createdAt);
  });
  stream.on('end', () => check(seen, { 'all changes': (seen) => seen === changes }));
  stream.write({ changes });
  stream.end();
}

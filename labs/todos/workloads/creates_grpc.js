// The new todos of creates.js over gRPC: 50 users without a pause.
import { call, door, users } from './calls.js';

export const options = users(50, '30s');
// As over HTTP.
const todo = { name: 'United todo', description: 'to be done one' };

export function setup() {
  return door();
}

export default function (door) {
  call(door, 'Create', todo, 'create');
}

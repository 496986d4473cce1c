// The lists of lists.js over gRPC: 20 users without a pause.
import { call, door, users } from './calls.js';

export const options = users(20, '30s');

export function setup() {
  return door();
}

export default function (door) {
  call(door, 'List', {}, 'list');
}

// Readers of new todos as server-sent events: 20 streams of 20 changes each, again and again, while 200 todos per second
// are created.
import sse from 'k6/x/sse';
import { check } from 'k6';
import { base } from './mix.js';
import { arrived, changes, readersAndWriter } from './changes.js';

export { write } from './changes.js';
export const options = readersAndWriter();

export function read() {
  let seen = 0;
  const answer = sse.open(`${base}/todos/changes?changes=${changes}`, { tags: { name: 'changes' } }, (client) => {
    client.on('event', (event) => {
      if (event.name !== 'created') return;
      seen += 1;
      arrived(`${JSON.parse(event.data).created_at}Z`);
    });
  });
  check(answer, { 'all changes': (answer) => answer.status === 200 && seen === changes });
}

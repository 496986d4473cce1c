// What a load generator measures that counts every response as a success, whatever its status and body.
// AS selects the client: `user` with a session if sign-in works, `stranger` with an unknown session, `nobody` without.
// The counters at the end report the real responses. With a PAUSE, a user waits for so many seconds after each response.
import http from 'k6/http';
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';
import { ask, signIn, stranger, users } from './drop_down.js';

export const options = users(200, '30s');

const anything = http.expectedStatuses({ min: 100, max: 599 });
const counters = {};
for (const status of [0, 200, 401, 403, 429, 503]) counters[status] = new Counter(`answers_${status}`);
const empty = new Counter('answers_200_empty');

export function setup() {
  if (__ENV.AS === 'nobody') return { session: {} };
  if (__ENV.AS === 'stranger') return { session: stranger };
  try {
    return { session: signIn(1) };
  } catch (problem) {
    // Without Redis sign-in fails; a service that fails open accepts any session.
    return { session: stranger };
  }
}

export default function (given) {
  const answer = ask(given.session, '', anything);
  if (counters[answer.status]) counters[answer.status].add(1);
  if (answer.status === 200 && answer.body.includes('"results":[]')) empty.add(1);
  if (__ENV.PAUSE) sleep(Number(__ENV.PAUSE));
}

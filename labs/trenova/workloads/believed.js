// What a load tool believes that looks at nothing but that an answer came: whatever its status and its body, it is a success.
// AS says who asks: `user` with a session if one can be had, `stranger` with a session that nobody has, `nobody` without one.
// The counters at the end tell what was answered.
import http from 'k6/http';
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
    // Without Redis nobody can sign in; who fails open does not mind.
    return { session: stranger };
  }
}

export default function (given) {
  const answer = ask(given.session, '', anything);
  if (counters[answer.status]) counters[answer.status].add(1);
  if (answer.status === 200 && answer.body.includes('"results":[]')) empty.add(1);
}

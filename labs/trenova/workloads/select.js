// The published load: users without pauses, one connection each, all with one session. Compares every body. With a RATE,
// so many requests are sent each second, whether earlier ones are answered or not.
import { arriving, ask, expected, signIn, stranger, users, whole } from './drop_down.js';

export const options = __ENV.RATE ? arriving('30s') : users(100, '30s');

export function setup() {
  try {
    const session = signIn(1);
    return { session, drop_down: expected(session) };
  } catch (problem) {
    // Without a session no response counts as a drop-down.
    console.error(String(problem));
    return { session: stranger, drop_down: 'none' };
  }
}

export default function (given) {
  whole(ask(given.session), (answer) => answer.body === given.drop_down);
}

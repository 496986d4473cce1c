// The published load: users who never pause, all with one session, as many as connections. Every body is compared.
import { ask, expected, signIn, stranger, users, whole } from './drop_down.js';

export const options = users(100, '30s');

export function setup() {
  try {
    const session = signIn(1);
    return { session, drop_down: expected(session) };
  } catch (problem) {
    // Whatever is answered to somebody who could not sign in, it is no drop-down.
    console.error(String(problem));
    return { session: stranger, drop_down: 'none' };
  }
}

export default function (given) {
  whole(ask(given.session), (answer) => answer.body === given.drop_down);
}

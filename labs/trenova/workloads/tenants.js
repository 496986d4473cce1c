// Many users, which the published load left out: 2 of each of 10 tenants, each with a session. Every user must see the
// workers of their own tenant only.
import { ask, expected, signIn, users, whole } from './drop_down.js';

export const options = users(100, '30s');

export function setup() {
  const sessions = [];
  for (let tenant = 1; tenant <= 10; tenant++) {
    for (let user = 1; user <= 2; user++) {
      const session = signIn(tenant, user);
      sessions.push({ session, drop_down: expected(session) });
    }
  }
  return sessions;
}

export default function (sessions) {
  const mine = sessions[__VU % sessions.length];
  whole(ask(mine.session), (answer) => answer.body === mine.drop_down);
}

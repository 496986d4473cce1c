// Search as you type: users type a name letter by letter, and every worker shown must match.
import { ask, signIn, users, whole } from './drop_down.js';

const names = ['ann', 'cara', 'hank', 'mona', 'adams', 'evans', 'green', 'king', 'olga f', 'finn jo'];

export const options = users(50, '30s');

export function setup() {
  const sessions = [];
  for (let tenant = 1; tenant <= 10; tenant++) sessions.push(signIn(tenant));
  return sessions;
}

export default function (sessions) {
  const session = sessions[__VU % sessions.length];
  const name = names[Math.floor(Math.random() * names.length)];
  for (let typed = 1; typed <= name.length; typed++) {
    const words = name.slice(0, typed).trim().split(' ');
    whole(ask(session, words.join(' ')), (answer) => {
      const page = answer.json();
      const matches = ({ label }) => words.every((word) => ` ${label.toLowerCase()}`.includes(` ${word}`));
      return page.results.length > 0 && page.results.every(matches);
    });
  }
}

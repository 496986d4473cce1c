// Read your writes: each user makes a todo and reads it until it is there. How often the first look does not find it, and
// how long the wait is. A look that finds nothing is a 404, so in a study the share of errors tells how stale reads are.
import http from 'k6/http';
import { check } from 'k6';
import { Rate, Trend } from 'k6/metrics';
import { base, make, users } from './mix.js';

export const options = users(10, '30s');

const stale = new Rate('first_look_stale');
const wait = new Trend('visible_after', true);
const looks = new Trend('looks');

export default function () {
  const made = make();
  if (made.status !== 200) return;
  const id = made.json('id');
  const answered = Date.now();
  for (let look = 1; look <= 1000; look++) {
    const seen = http.get(`${base}/todos/${id}`, { tags: { name: 'GET /todos/{id}' } });
    if (look === 1) stale.add(seen.status === 404);
    if (seen.status === 200) {
      wait.add(Date.now() - answered);
      looks.add(look);
      check(seen, { 'it is the one': (seen) => seen.json('id') === id });
      return;
    }
  }
  check(null, { 'it is there after 1,000 looks': () => false });
}

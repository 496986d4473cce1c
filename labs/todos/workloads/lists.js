// Lists alone: 20 users without a pause. What does a list cost over HTTP/1.1? The body is not read by the script.
import http from 'k6/http';
import { check } from 'k6';
import { base, users } from './mix.js';

export const options = users(20, '30s');

export default function () {
  const answer = http.get(`${base}/todos/`, { responseType: 'none', tags: { name: 'list' } });
  check(answer, { 'a list': (answer) => answer.status === 200 });
}

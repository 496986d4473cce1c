// A person with a browser: signs up, reads, writes a post, gets it wrong once, comments, edits, deletes, signs out.
// Forms are sent with the tokens of their pages, and every step is checked. With pauses: an open, light load.
import http from 'k6/http';
import { check, sleep } from 'k6';
import { base, whole } from './traffic.js';

const pause = Number(__ENV.PAUSE || 0.5);

export const options = {
  scenarios: {
    people: {
      executor: 'per-vu-iterations',
      vus: Number(__ENV.VUS || 5),
      iterations: Number(__ENV.ITERATIONS || 2),
      maxDuration: '2m',
    },
  },
  thresholds: { checks: ['rate==1'] },
};

// The token of the last form of a page.
function token(page) {
  const parts = page.body.split('name="token" value="');
  return parts.length > 1 ? parts[parts.length - 1].split('"')[0] : '';
}

function open(path, name) {
  const page = http.get(`${base}${path}`, { tags: { name } });
  check(page, { [`${name}: a whole page`]: whole });
  sleep(pause * Math.random());
  return page;
}

// Sends a form; every change ends with the way to another page.
function send(page, path, fields, name, status = 303) {
  const answer = http.post(`${base}${path}`, Object.assign({ token: token(page) }, fields), {
    redirects: 0,
    tags: { name },
    responseCallback: http.expectedStatuses(status),
  });
  check(answer, { [`${name}: ${status}`]: (r) => r.status === status });
  sleep(pause * Math.random());
  return answer;
}

export default function () {
  const me = `visitor-${__VU}-${__ITER}-${Math.floor(Math.random() * 1e6)}`;
  const title = `What ${me} thinks`;

  const list = open('/', 'newest posts');
  // The oldest post of the list: the newest may be another visitor's, who deletes it in this moment.
  const posts = list.body.match(/<h2><a href="\/posts\/\d+"/g) || [];
  check(posts, { 'the list leads somewhere': (all) => all.length > 0 });
  open(posts[posts.length - 1].split('"')[1], 'a post');

  const account = { screen_name: me, password: 'a good password', about: '' };
  send(open('/sign_up', 'sign-up form'), '/sign_up', account, 'sign up');

  const form = open('/posts/new', 'post form');
  send(form, '/posts', { title: 'Tiny', description: 'Too short a title.' }, 'a bad post', 422);
  const mine = send(form, '/posts', { title, description: 'First thought.\n\nSecond thought.' }, 'write').headers.Location;

  const page = open(mine, 'my post');
  check(page, { 'my post is there at once': (r) => r.body.includes(title) });
  send(page, `${mine}/comments`, { body: 'A thought that came later.' }, 'comment');

  const changed = { title: `${title} now`, description: 'Third thought.' };
  send(open(`${mine}/edit`, 'edit form'), mine, changed, 'edit');
  check(open('/', 'newest posts'), { 'the list shows the new title': (r) => r.body.includes(changed.title) });

  send(open(mine, 'my post'), `${mine}/delete`, {}, 'delete');
  check(http.get(`${base}${mine}`, { tags: { name: 'gone' }, responseCallback: http.expectedStatuses(404) }), {
    'my post is gone': (r) => r.status === 404,
  });
  send(open('/', 'newest posts'), '/sign_out', {}, 'sign out');
}

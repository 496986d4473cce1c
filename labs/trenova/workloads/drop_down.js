// Shared by the workloads: base URL, sign-in, the check of a drop-down, and the handling of a wrong one.
import http from 'k6/http';
import { check, fail } from 'k6';

export const base = __ENV.BASE_URL || 'http://127.0.0.1:3001';
const path = '/api/v1/workers/select-options';
const name = `GET ${path}`;

// Closed model without pauses. VUS and DURATION override both.
export function users(vus, duration) {
  return {
    scenarios: {
      users: {
        executor: 'constant-vus',
        vus: Number(__ENV.VUS || vus),
        duration: __ENV.DURATION || duration,
        gracefulStop: '10s',
      },
    },
    // The script sends the session cookie as a header.
    noCookiesReset: true,
    setupTimeout: '60s',
  };
}

// Open model: RATE requests each second, from as many as MAX_VUS connections.
export function arriving(duration) {
  return {
    scenarios: {
      users: {
        executor: 'constant-arrival-rate',
        rate: Number(__ENV.RATE),
        duration: __ENV.DURATION || duration,
        preAllocatedVUs: Number(__ENV.VUS || 100),
        maxVUs: Number(__ENV.MAX_VUS || 500),
        gracefulStop: '10s',
      },
    },
    noCookiesReset: true,
    setupTimeout: '60s',
  };
}

// An unknown session.
export const stranger = { Cookie: `trenova_session=${'0123456789abcdef'.repeat(4)}` };

// Signs in a user of a tenant; returns the headers with the session.
export function signIn(tenant, user = 1) {
  const body = JSON.stringify({ emailAddress: `user${user}@org${tenant}.example`, password: 'password' });
  const answer = http.post(`${base}/api/v1/auth/login`, body, {
    headers: { 'Content-Type': 'application/json' },
    tags: { name: 'POST /api/v1/auth/login' },
  });
  if (answer.status !== 200) fail(`signing in as user ${user} of tenant ${tenant}: ${answer.status} ${answer.body}`);
  http.cookieJar().clear(base);
  return { Cookie: `trenova_session=${answer.cookies.trenova_session[0].value}` };
}

export function ask(headers, query = '', callback = null) {
  const options = { headers, tags: { name } };
  if (callback) options.responseCallback = callback;
  return http.get(`${base}${path}?query=${encodeURIComponent(query)}`, options);
}

// Fetches the expected drop-down, which stays the same while no worker changes, and checks it in full. Every later
// response must equal it byte for byte.
export function expected(headers) {
  const answer = ask(headers);
  const page = answer.status === 200 ? answer.json() : { results: [] };
  const numbers = page.results.map((worker) => Number(worker.label.split(' ').pop()));
  const good = check(answer, {
    'ten workers': () => page.results.length === 10,
    'each with its id and name': () =>
      page.results.every((worker) => /^wrk_[0-9A-Z]{26}$/.test(worker.value) && /^\w+ \w+ \d+$/.test(worker.label)),
    'newest first': () => numbers.every((number, at) => at === 0 || number === numbers[at - 1] - 1),
    'all are counted': () => page.count === null || page.count === numbers[0],
  });
  if (!good) fail(`no drop-down: ${answer.status} ${answer.body}`);
  return answer.body;
}

// Sends a failing request after a wrong response with status 200, so that the error rate includes it.
export function whole(answer, isWhole) {
  if (answer.status === 200 && !check(answer, { 'the whole drop-down': isWhole })) {
    http.get(`${base}/wrong`, { tags: { name: 'the drop-down was wrong' } });
  }
}

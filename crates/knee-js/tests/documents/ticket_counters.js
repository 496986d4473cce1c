// An on-sale of tickets, kept as one counter for each kind: a crowd buys the same two kinds at once.
//
// A million purchases of two tickets `a` and two tickets `b`, made by 10,000 buyers who do not wait between them.
//
//   knee run ticket_counters.js -e BASE=http://127.0.0.1:8080 -e ROUTE=complex-redis-decrement
//
// ROUTE is `simple-redis-decrement`, which subtracts, or `complex-redis-decrement`, which looks first whether
// there are enough.
import http from 'k6/http';

const url = `${__ENV.BASE || 'http://127.0.0.1:8080'}/${__ENV.ROUTE || 'simple-redis-decrement'}`;

export const options = {
  scenarios: {
    buyers: {
      executor: 'shared-iterations',
      vus: Number(__ENV.VUS || 10000),
      iterations: Number(__ENV.ITERATIONS || 1000000),
      maxDuration: '10m',
      gracefulStop: '30s',
    },
  },
};

const purchase = JSON.stringify({
  tickets: [
    { id: 'a', count: 2 },
    { id: 'b', count: 2 },
  ],
});
const params = { headers: { 'Content-Type': 'application/json' }, tags: { name: 'reserve' } };

export default function () {
  http.post(url, purchase, params);
}

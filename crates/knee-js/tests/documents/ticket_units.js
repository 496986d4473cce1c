// An on-sale of tickets, kept as one row for each ticket: a crowd buys a few kinds each.
//
// 100,000 purchases by 1,000 buyers who do not wait between them. A purchase has 1 to 3 lines, a line 1 to 3
// tickets of one of ten kinds; the same kind may come twice.
//
//   knee run ticket_units.js -e BASE=http://127.0.0.1:8080
//
// With SEED the purchases are the same in every run.
import http from 'k6/http';
import exec from 'k6/execution';
import { randomSeed } from 'k6';

const url = `${__ENV.BASE || 'http://127.0.0.1:8080'}/pg-reserve-ticket`;
const kinds = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

export const options = {
  scenarios: {
    buyers: {
      executor: 'shared-iterations',
      vus: Number(__ENV.VUS || 1000),
      iterations: Number(__ENV.ITERATIONS || 100000),
      maxDuration: '10m',
      gracefulStop: '30s',
    },
  },
};

const params = { headers: { 'Content-Type': 'application/json' }, tags: { name: 'reserve' } };

function below(limit) {
  return Math.floor(Math.random() * limit);
}

export default function () {
  if (__ENV.SEED) {
    // The same purchase in each iteration, whichever VU makes it.
    randomSeed(Number(__ENV.SEED) + exec.scenario.iterationInTest);
  }
  const lines = Array.from({ length: 1 + below(3) }, () => ({
    id: kinds[below(kinds.length)],
    count: 1 + below(3),
  }));
  http.post(url, JSON.stringify({ tickets: lines }), params);
}

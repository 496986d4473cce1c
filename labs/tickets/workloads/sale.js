// What the workloads share: where the office is, the published load, and what a good answer is.
import http from 'k6/http';
import { check } from 'k6';
import { Counter } from 'k6/metrics';

const base = __ENV.BASE_URL || 'http://127.0.0.1:3100';
const sold = new Counter('tickets_sold');
const refused = new Counter('orders_refused');

// So many users share so many orders and never pause, as published. VUS, ITERATIONS and DURATION change it: with a
// DURATION of some seconds, whatever orders are left then are not sent.
export function shared(vus, iterations) {
  return {
    scenarios: {
      buyers: {
        executor: 'shared-iterations',
        vus: Number(__ENV.VUS || vus),
        iterations: Number(__ENV.ITERATIONS || iterations),
        maxDuration: __ENV.DURATION || '10m',
        gracefulStop: __ENV.DURATION ? '5s' : '30s',
      },
    },
  };
}

// RATE orders arrive each second, whether earlier ones are answered or not. For a service that outruns the generator when
// users never pause.
export function arriving() {
  return {
    scenarios: {
      buyers: {
        executor: 'constant-arrival-rate',
        rate: Number(__ENV.RATE),
        duration: __ENV.DURATION || '30s',
        preAllocatedVUs: 50,
        maxVUs: 1000,
        gracefulStop: '5s',
      },
    },
  };
}

// Buys, and wants it to work: an order that is refused is a failure.
export function buy(route, lines) {
  const answer = order(route, lines);
  check(answer, { 'sold': (answer) => answer.status === 200 && answer.body === 'Success' });
}

// Buys, and takes no for an answer. What was sold is counted, to be held against the stores afterwards.
export function tryToBuy(route, lines) {
  const answer = order(route, lines, http.expectedStatuses(200, 409));
  const isSold = answer.status === 200 && answer.body === 'Success';
  const isRefused = answer.status === 409 && answer.json('error.code') === 'not_enough_left';
  check(answer, { 'sold or refused': () => isSold || isRefused });
  if (isSold) {
    sold.add(lines.reduce((sum, line) => sum + line.count, 0));
  } else if (isRefused) {
    refused.add(1);
  }
}

function order(route, lines, responseCallback = http.expectedStatuses(200)) {
  return http.post(`${base}/${route}`, JSON.stringify({ tickets: lines }), {
    headers: { 'Content-Type': 'application/json' },
    tags: { name: route },
    responseCallback,
  });
}

// From 1 to 3 lines, each a random one of the ten tickets and 1 to 3 of it; a ticket may come twice.
export function randomLines() {
  return Array.from({ length: 1 + below(3) }, () => ({ id: 'abcdefghij'[below(10)], count: 1 + below(3) }));
}

function below(n) {
  return Math.floor(Math.random() * n);
}

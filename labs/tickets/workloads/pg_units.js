// The published PostgreSQL run: 1,000 users, 100,000 orders with 4 units on average. Needs 100,000 units of each of
// ten tickets, fresh for each run: two runs take 800,000 of them. With a PAUSE, users wait for so many seconds after each
// order.
import { sleep } from 'k6';
import { buy, randomLines, shared } from './sale.js';

export const options = shared(1000, 100000);

export default function () {
  buy('pg-reserve-ticket', randomLines());
  if (__ENV.PAUSE) {
    sleep(Number(__ENV.PAUSE));
  }
}

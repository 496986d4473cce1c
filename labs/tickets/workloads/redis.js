// The published Redis run on the route whose script is a switch of the service. With a RATE, so many orders arrive; with a
// PAUSE, users wait for so many seconds after each order.
import { sleep } from 'k6';
import { arriving, buy, shared } from './sale.js';

export const options = __ENV.RATE ? arriving() : shared(10000, 1000000);

export default function () {
  buy('redis-decrement', [{ id: 'a', count: 2 }, { id: 'b', count: 2 }]);
  if (__ENV.PAUSE) {
    sleep(Number(__ENV.PAUSE));
  }
}

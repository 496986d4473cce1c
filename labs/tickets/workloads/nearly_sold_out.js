// The end of a sale, which the published runs never reached: more orders than tickets, so most are refused.
// Seed with --stock 1000 --units-per-ticket 1000. ROUTE chooses the store. What `tickets_sold` says has to be
// what the store is short of afterwards. With a PAUSE, users wait for so many seconds after each order.
import { sleep } from 'k6';
import { randomLines, shared, tryToBuy } from './sale.js';

export const options = shared(100, 20000);

export default function () {
  tryToBuy(__ENV.ROUTE || 'pg-reserve-ticket', randomLines());
  if (__ENV.PAUSE) {
    sleep(Number(__ENV.PAUSE));
  }
}

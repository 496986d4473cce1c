// The published Redis run: 10,000 users, 1,000,000 orders of 2 a and 2 b, the script that does not look at what is left.
import { buy, shared } from './sale.js';

export const options = shared(10000, 1000000);

export default function () {
  buy('simple-redis-decrement', [{ id: 'a', count: 2 }, { id: 'b', count: 2 }]);
}

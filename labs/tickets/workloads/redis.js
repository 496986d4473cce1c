// The published Redis run on the route whose script is a switch of the service. With a RATE, so many orders arrive.
import { arriving, buy, shared } from './sale.js';

export const options = __ENV.RATE ? arriving() : shared(10000, 1000000);

export default function () {
  buy('redis-decrement', [{ id: 'a', count: 2 }, { id: 'b', count: 2 }]);
}

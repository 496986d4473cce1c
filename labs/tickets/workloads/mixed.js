// Orders with mixed lines to all stores at a time, in turn.
import { randomLines, shared, tryToBuy } from './sale.js';
import exec from 'k6/execution';

export const options = shared(100, 20000);

const routes = ['complex-redis-decrement', 'pg-reserve-ticket', 'pg-decrement-ticket'];

export default function () {
  tryToBuy(routes[exec.scenario.iterationInTest % routes.length], randomLines());
}

// The hot row: the load of pg_units.js on one row for each ticket.
import { buy, randomLines, shared } from './sale.js';

export const options = shared(1000, 100000);

export default function () {
  buy('pg-decrement-ticket', randomLines());
}

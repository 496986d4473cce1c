// row: k6/metrics.Counter, life cycle.setup, life cycle.teardown
import http from 'k6/http';
import { Counter } from 'k6/metrics';
const counter = new Counter('my_counter');
export function setup() { counter.add(1); http.get(`${__ENV.BASE}/get?setup`); }
export default function () { counter.add(10); }
export function teardown() { counter.add(100); http.get(`${__ENV.BASE}/get?teardown`); }

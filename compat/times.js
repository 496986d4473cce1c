// Each iteration sends one request that names its VU and the start of its scenario: `cargo xtask compat --times`.
import exec from 'k6/execution';
import http from 'k6/http';
import { sleep } from 'k6';
export const options = { scenarios: { plan: JSON.parse(__ENV.PLAN) } };
export default function () {
  http.get(`${__ENV.BASE}/get?vu=${exec.vu.idInTest}&began=${exec.scenario.startTime}`);
  sleep(Number(__ENV.PAUSE));
}

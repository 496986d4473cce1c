// What the readers of changes share: todos that are created at a constant rate, and the delay until a reader has one.
import { Trend } from 'k6/metrics';
import { make } from './mix.js';

// From the start of the statement that wrote the todo until the script has its event. Both clocks are of one machine.
const delay = new Trend('change_delay', true);
// How many changes a reader reads before it opens another stream.
export const changes = Number(__ENV.CHANGES || 20);

export function readersAndWriter() {
  const duration = __ENV.DURATION || '30s';
  const writer = {
    executor: 'constant-arrival-rate',
    exec: 'write',
    rate: Number(__ENV.RATE || 200),
    timeUnit: '1s',
    preAllocatedVUs: 50,
    gracefulStop: '2s',
  };
  return {
    scenarios: {
      writer: { ...writer, duration },
      // It writes on until the last streams have ended.
      afterwards: { ...writer, startTime: duration, duration: '1s' },
      readers: {
        executor: 'constant-vus',
        exec: 'read',
        vus: Number(__ENV.VUS || 20),
        duration,
        gracefulStop: '2s',
      },
    },
  };
}

export function write() {
  make();
}

export function arrived(createdAt) {
  delay.add(Date.now() - Date.parse(createdAt));
}

// row: k6/timers, globals.setTimeout
import { setTimeout as later, clearTimeout as stop } from 'k6/timers';
export default function () {
  setTimeout(() => console.log('20'), 20);
  later(() => console.log('5'), 5);
  const cancelled = setTimeout(() => console.log('never'), 1);
  stop(cancelled);
  Promise.resolve().then(() => console.log('microtask'));
  setTimeout((a, b) => console.log('arguments', a, b), 10, 'x', 2);
  setTimeout(() => console.log('0'), 0);
  console.log('now', typeof cancelled);
}

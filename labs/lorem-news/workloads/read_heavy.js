// 20 users who never pause, 10 seconds, on `read_heavy`; see traffic.js.
import { closed, act } from './traffic.js';

export const options = closed();

export default function () {
  act('read_heavy');
}

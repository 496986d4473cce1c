// 20 users who never pause, 10 seconds, on `post_create`; see traffic.js.
import { closed, act } from './traffic.js';

export const options = closed();

export default function () {
  act('post_create');
}

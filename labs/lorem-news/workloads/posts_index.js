// 20 users who never pause, 10 seconds, on `posts_index`; see traffic.js.
import { closed, act } from './traffic.js';

export const options = closed();

export default function () {
  act('posts_index');
}

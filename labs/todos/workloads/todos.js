// The published load: 50 users, lists to new todos as 6 to 4, by chance and without a pause.
import { list, make, users } from './mix.js';

export const options = users(50, '2m');

export default function () {
  if (Math.random() < 0.6) {
    list();
  } else {
    make();
  }
}

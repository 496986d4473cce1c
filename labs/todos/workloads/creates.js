// New todos alone: 50 users without a pause. What does a write cost that waits for the replica?
import { make, users } from './mix.js';

export const options = users(50, '30s');

export default function () {
  make();
}

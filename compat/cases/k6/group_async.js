// row: k6.group
import { group } from 'k6';
export default function () {
  group('a', async () => 1);
  console.log('not reached');
}

// row: k6.group
import { check, group } from 'k6';
export default function () {
  try { group('a', () => { throw new Error('from within'); }); } catch (e) { console.log(e.message); }
  check(1, { 'back outside': () => true });
  try { group('x::y', () => 1); } catch (e) { console.log('colons refused'); }
  try { group('no function'); } catch (e) { console.log('no function refused'); }
}

// row: exec.test.abort
import exec from 'k6/execution';
import { group } from 'k6';
export default function () {
  Promise.resolve().then(() => {
    group('within', () => { try { exec.test.abort('from within'); } catch (e) { console.log('caught'); } finally { console.log('finally'); } });
    console.log('after');
  }).catch(() => console.log('rejected')).finally(() => console.log('settled'));
}
export function handleSummary() { console.log('summary'); return {}; }

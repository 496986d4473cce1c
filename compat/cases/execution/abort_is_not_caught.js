// row: exec.test.abort
// args: -i 3
import exec from 'k6/execution';
export default function () {
  try { exec.test.abort(); } catch (e) { console.log('caught'); } finally { console.log('finally'); }
}

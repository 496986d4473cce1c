// row: exec.vu.metrics.tags
import exec from 'k6/execution';
export default function () {
  exec.vu.tags.mine = 'yes';
  console.log(exec.vu.tags.mine, exec.vu.metrics.tags.mine);
  try { exec.vu.metrics.tags.bad = {}; console.log('kept', exec.vu.metrics.tags.bad); } catch (e) { console.log('refused'); }
}

// row: exec.test.fail, exec.test.abort, exit codes.108
import exec from 'k6/execution';
export const options = { thresholds: { iterations: ['count>5'] } };
export default function () { exec.test.fail('marked'); exec.test.abort('and ended'); }

// row: exec.test.fail, exit codes.99
import exec from 'k6/execution';
export const options = { thresholds: { iterations: ['count>5'] } };
export default function () { exec.test.fail('marked'); }

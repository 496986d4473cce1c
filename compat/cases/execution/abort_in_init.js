// row: exec.test.abort, exit codes.108
import exec from 'k6/execution';
exec.test.abort('in init');
export default function () { console.log('not reached'); }

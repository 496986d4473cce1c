// row: exit codes.105
// interrupt: teardown
import { sleep } from 'k6';
export default function () { console.log('runs'); }
export function teardown() { console.log('teardown'); sleep(1); console.log('goes on'); }

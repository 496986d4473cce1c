// row: options.setupTimeout, exit codes.100
import { sleep } from 'k6';
export const options = { setupTimeout: '200ms' };
export function setup() { sleep(5); }
export default function () { console.log('not reached'); }

// row: modules.local, exit codes.107
import x from 'lodash';
export default function () {}

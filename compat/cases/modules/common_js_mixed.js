// row: modules.require
import http from 'k6/http';
module.exports = { a: 1 };
export default function () { console.log('not reached'); }

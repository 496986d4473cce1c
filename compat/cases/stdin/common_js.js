// row: flags.-, modules.require
// stdin: yes
// args: -i 1
const http = require('k6/http');
exports.default = function () { console.log(http.get(`${__ENV.BASE}/get`).status); };

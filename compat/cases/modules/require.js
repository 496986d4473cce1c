// row: modules.require
const http = require('k6/http');
const { check } = require('k6');
const own = require('./material/common.js');
module.exports.default = function () {
  check(http.get(`${__ENV.BASE}/get`), { ok: (r) => r.status === 200 });
  console.log(own.value, own.twice(4));
};

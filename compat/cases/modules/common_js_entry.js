// row: modules.require
const http = require('k6/http');
const { check } = require('k6');
exports.options = { iterations: 2, vus: 1, thresholds: { checks: ['rate==1'] } };
exports.setup = function () { return { a: 1 }; };
exports.default = function (data) {
  const res = http.get(`${__ENV.BASE}/get`);
  console.log(data.a, __ITER, this === undefined);
  check(res, { ok: (r) => r.status === 200 });
};
exports.teardown = function (data) { console.log('teardown', data.a); };

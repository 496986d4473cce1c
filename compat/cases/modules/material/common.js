exports.value = 7;
module.exports.twice = (x) => 2 * x;
exports.where = typeof __filename;

module.exports = function (a) { return a + 1; }; module.exports.two = 2;

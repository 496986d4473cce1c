exports.x = 1; exports.f = function () { return typeof module + typeof exports + typeof require; }; exports.default = 'its own';

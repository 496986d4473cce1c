exports.seen = Object.keys(require('./circle_a.js')).join();

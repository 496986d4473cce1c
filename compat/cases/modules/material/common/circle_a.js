exports.early = 1; const b = require('./circle_b.js'); exports.late = b.seen;

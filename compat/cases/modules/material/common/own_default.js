Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'D'; exports.z = 3;

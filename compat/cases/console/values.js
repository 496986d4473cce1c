// row: globals.console
export default function () {
  console.log('a', 1, true, null, undefined, 1.5, -0, NaN, Infinity);
  console.log([1, 'two', [3], { f: 4 }], [], {}, { a: { b: ['c'] }, d: 'e' });
  console.log(() => 1, function named() {}, Symbol('s'), class Thing {});
  console.log(new Date(0), /re/g, new Error('message').message);
  console.log('%s is %d', 'x', 5, '%');
  console.log();
  console.log('two\nlines', 'quote " and \\ and tab\t.');
}

// passed: 24
// failed: 56
// Each row: an assertion that fails, the message of its error, and what the error says was expected and found. Where
// the original does not say it, the error does not have it.
import chai, { expect } from 'https://jslib.k6.io/k6chaijs/4.3.4.3/index.js';

const DATE = { expected: 'Error: bad', actual: String(new Date(0)) };
const ROWS = [
  ['expect(1, "it").to.equal(2)', 'expected 1 to equal 2', { expected: '2', actual: '1' }],
  ['expect(1, "it").to.not.equal(1)', 'expected 1 to not equal 1', { expected: '1', actual: '1' }],
  ['expect("x").to.be.true', `expected 'x' to be true`, { expected: 'true' }],
  ['expect(null, "it").to.be.ok', 'expected null to be truthy'],
  ['expect([1, 2]).to.be.empty', 'expected [ 1, 2 ] to be empty'],
  ['expect(5, "it").to.be.empty', 'it: .empty was passed non-string primitive 5'],
  ['expect(function f() {}).to.be.empty', '.empty was passed a function f'],
  ['expect(new Set([1])).to.be.arguments', 'expected Set{ 1 } to be arguments got Set'],
  ['expect([1], "it").to.include(2)', 'expected [ 1 ] to include 2'],
  [
    'expect({ a: 1 }).to.include({ a: 2 })',
    `expected { a: 1 } to have property 'a' of 2, got 1`,
    { expected: '2', actual: '1' },
  ],
  [
    'expect({ a: 1, b: 2 }).to.not.include({ a: 1, b: 2 })',
    `expected { a: 1, b: 2 } to not have property 'a' of 1`,
    { expected: '1', actual: '1' },
  ],
  [
    'expect(5, "it").to.include(2)',
    'it: the given combination of arguments (number and number) is invalid for this assertion. ' +
      'You can use an array, a map, an object, a set, a string, or a weakset instead of a number',
  ],
  [
    'expect({ a: { b: 1 } }).to.nested.include({ "a.b": 2 })',
    `expected { a: { b: 1 } } to have nested property 'a.b' of 2, got 1`,
    { expected: '2', actual: '1' },
  ],
  ['expect([{ a: 1 }]).to.deep.include({ a: 2 })', 'expected [ { a: 1 } ] to deep include { a: 2 }'],
  ['expect({ a: 1 }).to.have.property("b")', `expected { a: 1 } to have property 'b'`],
  [
    'expect({ a: 1 }).to.have.property("a", 2)',
    `expected { a: 1 } to have property 'a' of 2, got 1`,
    { expected: '2', actual: '1' },
  ],
  [
    'expect({ a: 1 }).to.not.have.property("a", 1)',
    `expected { a: 1 } to not have property 'a' of 1`,
    { expected: '1', actual: '1' },
  ],
  ['expect(null, "it").to.have.property("a")', 'it: Target cannot be null or undefined.'],
  ['expect({}).to.have.property({})', 'the argument to property must be a string, number, or symbol'],
  [
    'expect({ a: { b: [1] } }).to.have.nested.property("a.b[0]", 2)',
    `expected { a: { b: [ 1 ] } } to have nested property 'a.b[0]' of 2, got 1`,
    { expected: '2', actual: '1' },
  ],
  ['expect({}).to.have.own.property("toString")', `expected {} to have own property 'toString'`],
  [
    'expect({ a: 1 }).to.have.ownPropertyDescriptor("a", { value: 2 })',
    `expected the own property descriptor for 'a' on { a: 1 } to match { value: 2 }, got { value: 1, writ...`,
    { expected: '{"value":2}', actual: '{"value":1,"writable":true,"enumerable":true,"configurable":true}' },
  ],
  ['expect([1]).to.have.lengthOf(2)', 'expected [ 1 ] to have a length of 2 got 1', { expected: '2', actual: '1' }],
  [
    'expect(new Map([[1, 2]])).to.have.lengthOf(2)',
    'expected Map{} to have a size of 2 got 1',
    { expected: '2', actual: '1' },
  ],
  [
    'expect([1]).to.have.lengthOf.above(2)',
    'expected [ 1 ] to have a length above 2 got 1',
    { expected: '2', actual: '1' },
  ],
  ['expect(5, "it").to.have.lengthOf(2)', `expected 5 to have property 'length'`],
  ['expect(1).to.be.above(2)', 'expected 1 to be above 2', { expected: '2' }],
  ['expect(1, "it").to.be.above("2")', 'it: the argument to above must be a number'],
  ['expect("1", "it").to.be.within(1, 2)', `it: expected '1' to be a number or a date`],
  ['expect([1, 2, 3]).to.have.length.within(1, 2)', 'expected [ 1, 2, 3 ] to have a length within 1..2'],
  ['expect(3).to.not.be.at.least(2)', 'expected 3 to be below 2', { expected: '2' }],
  ['expect(1).to.be.closeTo(2, 0.5)', 'expected 1 to be close to 2 +/- 0.5'],
  [
    'expect(1, "it").to.be.closeTo(2)',
    'it: the arguments to closeTo or approximately must be numbers, and a delta is required',
  ],
  ['expect(1).to.be.an("array")', 'expected 1 to be an array'],
  ['expect({}).to.be.an.instanceof(Error)', 'expected {} to be an instance of Error'],
  [
    'expect({}, "it").to.be.instanceof("text")',
    'it: The instanceof assertion needs a constructor but string was given.',
  ],
  ['expect(3).to.be.oneOf([1, 2])', 'expected 3 to be one of [ 1, 2 ]', { expected: '1,2', actual: '3' }],
  [
    'expect({ a: 1 }).to.be.deep.oneOf([{ a: 2 }])',
    'expected { a: 1 } to deeply equal one of [ { a: 2 } ]',
    { expected: '[{"a":2}]', actual: '{"a":1}' },
  ],
  [
    'expect({ a: 1 }).to.have.all.keys("a", "b")',
    `expected { a: 1 } to have keys 'a', and 'b'`,
    { expected: 'a,b', actual: 'a' },
  ],
  [
    'expect({ a: 1 }).to.have.any.keys("c", "b")',
    `expected { a: 1 } to have keys 'c', or 'b'`,
    { expected: 'b,c', actual: 'a' },
  ],
  [
    'expect({ a: 1 }, "it").to.have.keys(["a"], "b")',
    'it: when testing keys against an object or an array you must give a single Array|Object|String argument' +
      ' or multiple String arguments',
  ],
  ['expect({}).to.have.keys()', 'keys required'],
  [
    'expect([1, 2]).to.have.members([2, 3])',
    'expected [ 1, 2 ] to have the same members as [ 2, 3 ]',
    { expected: '2,3', actual: '1,2' },
  ],
  [
    'expect([1, 2]).to.include.ordered.members([2])',
    'expected [ 1, 2 ] to be an ordered superset of [ 2 ]',
    { expected: '2', actual: '1,2' },
  ],
  ['expect("x", "it").to.have.members([1])', `expected 'x' to be an array`],
  ['expect("text").to.match(/y/)', `expected 'text' to match /y/`],
  ['expect("text", "it").to.have.string("y")', `expected 'text' to contain 'y'`],
  ['expect(2).to.satisfy((x) => x > 2)', 'expected 2 to satisfy [Function]', { expected: 'true', actual: 'false' }],
  ['expect({}).to.respondTo("go")', `expected {} to respond to 'go'`],
  ['expect(NaN).to.be.finite', 'expected NaN to be a finite number'],
  ['expect(Object.freeze({})).to.not.be.frozen', 'expected {} to not be frozen'],
  ['expect(() => {}).to.throw()', 'expected [Function] to throw an error'],
  [
    'expect(() => { throw new TypeError("boom"); }).to.throw(RangeError)',
    `expected [Function] to throw 'RangeError' 'TypeError: boom' was thrown`,
    { expected: 'RangeError', actual: 'TypeError: boom' },
  ],
  [
    'expect(() => { throw new TypeError("boom"); }).to.throw("bang")',
    `expected [Function] to throw error including 'bang' got 'boom'`,
    { expected: 'bang', actual: 'boom' },
  ],
  [
    'expect(() => { throw new TypeError("boom"); }).to.not.throw(TypeError)',
    `expected [Function] to not throw 'TypeError' 'TypeError: boom' was thrown`,
    { expected: 'TypeError', actual: 'TypeError: boom' },
  ],
  ['expect(5, "it").to.throw()', 'expected 5 to be a function'],
  ['expect(() => {}).to.change({ n: 1 }, "n")', 'expected .n to change'],
  [
    'expect({ a: [1, { b: 2 }] }).to.eql({ a: [1, { b: 3 }] })',
    'expected { a: [ 1, { b: 2 } ] } to deeply equal { a: [ 1, { b: 3 } ] }',
    { expected: '{"a":[1,{"b":3}]}', actual: '{"a":[1,{"b":2}]}' },
  ],
  [
    'expect("a very long text that is longer than forty characters").to.equal("")',
    `expected 'a very long text that is longer than …' to equal ''`,
    { expected: '', actual: 'a very long text that is longer than forty characters' },
  ],
  [
    'expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]).to.equal(-0)',
    'expected [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …(5) ] to equal -0',
    { expected: '0', actual: '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15' },
  ],
  ['expect(new Date(0)).to.equal(new Error("bad"))', 'expected 1970-01-01T00:00:00.000Z to equal Error: bad', DATE],
  ['expect({ json: () => { throw new Error(); } }, "it").to.have.validJsonBody()', 'has valid json body'],
  ['expect(1).to.be.equl(1)', 'Invalid Chai property: equl. Did you mean "equal"?'],
  ['expect(1).to.equal.nothing', 'Invalid Chai property: equal.nothing. See docs for proper usage of "equal".'],
  ['expect.fail("given up")', 'given up'],
  ['assert.equal(1, 2, "it")', 'expected 1 to equal 2', { expected: '2', actual: '1' }],
  ['assert.isNotEmpty([])', 'expected [] not to be empty'],
  ['assert.operator(1, ">", 2)', 'expected 1 to be > 2'],
  ['assert(false, "plain")', 'plain'],
];

const shown = (value) => (String(value) === '[object Object]' ? JSON.stringify(value) : String(value));

function outcome(code) {
  try {
    new Function('expect', 'assert', code)(expect, chai.assert);
  } catch (error) {
    const details = ['expected', 'actual'].filter((name) => error[name] !== undefined);
    return [error.message, Object.fromEntries(details.map((name) => [name, shown(error[name])]))];
  }
  return ['held'];
}

export default function () {
  for (const [code, message, details = {}] of ROWS) {
    const [found, wanted] = [JSON.stringify(outcome(code)), JSON.stringify([message, details])];
    if (found !== wanted) console.error(`${code}: ${found} instead of ${wanted}`);
  }
}

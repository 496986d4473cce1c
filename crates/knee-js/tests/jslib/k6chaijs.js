// passed: 14
// failed: 6
import chai, { describe, expect } from 'https://jslib.k6.io/k6chaijs/4.3.4.3/index.js';

const same = (found, expected) => {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) console.error(`${one} instead of ${other}`);
};
const message = (body) => {
  try {
    body();
    return 'nothing thrown';
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};

chai.use((library, utils) => {
  library.Assertion.addMethod('longerThan', function longerThan(least) {
    new library.Assertion(this._obj, 'subject').to.be.a('string');
    const words = 'expected #{this} to be longer than #{exp}';
    this.assert(utils.flag(this, 'object').length > least, words, 'expected #{this} not to be longer than #{exp}', least);
  });
});

export default function () {
  const object = { a: 1, b: { c: [1, 2] } };
  same(describe('holds', () => {
    expect(200, 'status').to.equal(200);
    expect(object, 'object').to.deep.equal({ a: 1, b: { c: [1, 2] } });
    expect([1, 2, 3], 'list').to.include(2).and.to.not.include(9);
    expect('text', 'text').to.be.a('string').that.matches(/ex/);
    expect([1, 2], 'list').to.have.lengthOf(2);
    expect(object, 'object').to.have.nested.property('b.c[1]', 2);
    expect({ json: () => ({}) }, 'answer').to.have.validJsonBody();
  }), true);
  same(describe('fails', () => {
    expect(500, 'status').to.be.within(200, 299);
    expect(1, 'never reached').to.equal(1);
  }), false);
  same(describe('throws nothing to the outside', () => { expect(null, 'value').to.exist; }), false);
  same(message(() => expect(1, 'one').to.equal(2)), 'AssertionError: expected 1 to equal 2');
  same(message(() => expect({ a: [1] }, 'x').to.deep.equal({ a: [2] })), 'AssertionError: expected { a: [ 1 ] } to deeply equal { a: [ 2 ] }');
  same(message(() => expect(1).to.be.nonsense), 'Error: Invalid Chai property: nonsense');
  expect('word', 'word').to.be.longerThan(3);
  chai.config.aggregateChecks = false;
  same(message(() => expect(1, 'one').to.equal(2)), 'AssertionError: one: expected 1 to equal 2');
  const long = `${'word '.repeat(30)}`;
  same(message(() => expect(1, long).to.equal(2)), `AssertionError: ${long.slice(0, 100)}...`);
  chai.config.aggregateChecks = true;
  same(message(() => chai.assert.isTrue(true, 'assert')), 'nothing thrown');
}

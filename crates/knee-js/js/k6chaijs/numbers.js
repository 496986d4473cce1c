// knee's own k6chaijs: assertions about numbers, dates, and the length or size of values.

import { kindOf } from './type.js';

const COMPARISONS = [
  { words: ['above', 'gt', 'greaterThan'], test: (one, other) => one > other, says: 'above', opposite: 'at most' },
  {
    words: ['least', 'gte', 'greaterThanOrEqual'], test: (one, other) => one >= other, says: 'at least',
    opposite: 'below',
  },
  { words: ['below', 'lt', 'lessThan'], test: (one, other) => one < other, says: 'below', opposite: 'at least' },
  { words: ['most', 'lte', 'lessThanOrEqual'], test: (one, other) => one <= other, says: 'at most', opposite: 'above' },
];
// What `not` says about lengths, where that is not the opposite.
const NOT_LENGTH = {
  above: 'to not have a NAME above', 'at least': 'to have a NAME below',
  below: 'to not have a NAME below', 'at most': 'to have a NAME above',
};

const isCollection = (value) => ['map', 'set'].includes(kindOf(value));

// The length or size of a value, as `{ name, found }`.
export function measure(value) {
  return isCollection(value) ? { name: 'size', found: value.size } : { name: 'length', found: value.length };
}

// Adds the words to a library. `dateText` writes the dates of `within`.
export function addNumbers(library, dateText) {
  const { Assertion, util } = library;
  const { flag } = util;
  const check = checker(library);
  for (const { words, test, says, opposite } of COMPARISONS) {
    const compare = function compare(limit, message) {
      if (message) flag(this, 'message', message);
      check(this, words[0], [limit]);
      const value = flag(this, 'object');
      if (!flag(this, 'doLength')) {
        const negated = `expected #{this} to be ${opposite} #{exp}`;
        this.assert(test(value, limit), `expected #{this} to be ${says} #{exp}`, negated, limit);
        return;
      }
      const { name, found } = measure(value);
      const negated = `expected #{this} ${NOT_LENGTH[says].replace('NAME', name)} #{exp}`;
      const plain = `expected #{this} to have a ${name} ${says} #{exp} but got #{act}`;
      this.assert(test(found, limit), plain, negated, limit, found);
    };
    words.forEach((word) => Assertion.addMethod(word, compare));
  }

  Assertion.addMethod('within', function within(from, to, message) {
    if (message) flag(this, 'message', message);
    const areDates = [from, to].every((limit) => kindOf(limit) === 'date');
    const range = areDates ? `${dateText(from)}..${dateText(to)}` : `${from}..${to}`;
    check(this, 'within', [from, to]);
    const value = flag(this, 'object');
    const { name, found } = flag(this, 'doLength') ? measure(value) : { found: value };
    const what = name === undefined ? ['to be', 'to not be'] : [`to have a ${name}`, `to not have a ${name}`];
    const held = found >= from && found <= to;
    this.assert(held, `expected #{this} ${what[0]} within ${range}`, `expected #{this} ${what[1]} within ${range}`);
  });
}

// Refuses values and limits that cannot be compared.
function checker({ Assertion, AssertionError, util }) {
  const { flag } = util;
  return (assertion, word, limits) => {
    const value = flag(assertion, 'object');
    const message = flag(assertion, 'message');
    const ofLength = flag(assertion, 'doLength');
    const kind = kindOf(value);
    if (ofLength && !isCollection(value)) new Assertion(value, message).to.have.property('length');
    const all = (wanted) => limits.every((limit) => kindOf(limit) === wanted);
    const plural = limits.length > 1;
    const argument = plural ? 'the arguments' : 'the argument';
    let refused;
    if (!ofLength && kind === 'date' && !all('date')) {
      refused = `${argument} to ${word} must be ${plural ? 'dates' : 'a date'}`;
    } else if (!all('number') && (ofLength || kind === 'number')) {
      refused = `${argument} to ${word} must be ${plural ? 'numbers' : 'a number'}`;
    } else if (!ofLength && kind !== 'date' && kind !== 'number') {
      refused = `expected ${kind === 'string' ? `'${value}'` : value} to be a number or a date`;
    }
    if (refused !== undefined) throw new AssertionError(`${message ? `${message}: ` : ''}${refused}`);
  };
}

// `length` and `lengthOf`.
export function addLengths({ Assertion, util }) {
  const { flag } = util;
  function setLength() {
    flag(this, 'doLength', true);
  }
  function lengthOf(expected, message) {
    if (message) flag(this, 'message', message);
    const value = flag(this, 'object');
    if (!isCollection(value)) new Assertion(value, flag(this, 'message')).to.have.property('length');
    const { name, found } = measure(value);
    const words = `expected #{this} to have a ${name} of #{exp} but got #{act}`;
    // eslint-disable-next-line eqeqeq
    this.assert(found == expected, words, `expected #{this} to not have a ${name} of #{act}`, expected, found);
  }
  for (const word of ['length', 'lengthOf']) Assertion.addChainableMethod(word, lengthOf, setLength);
}

// `closeTo`.
export function addCloseness({ Assertion, AssertionError, util }) {
  const { flag } = util;
  function closeTo(expected, delta, message) {
    if (message) flag(this, 'message', message);
    const value = flag(this, 'object');
    const name = flag(this, 'message');
    new Assertion(value, name).is.a('number');
    if (typeof expected !== 'number' || typeof delta !== 'number') {
      const missing = delta === undefined ? ', and a delta is required' : '';
      const words = `the arguments to closeTo or approximately must be numbers${missing}`;
      throw new AssertionError(`${name ? `${name}: ` : ''}${words}`);
    }
    const range = `${expected} +/- ${delta}`;
    const held = Math.abs(value - expected) <= delta;
    this.assert(held, `expected #{this} to be close to ${range}`, `expected #{this} not to be close to ${range}`);
  }
  for (const word of ['closeTo', 'approximately']) Assertion.addMethod(word, closeTo);
}

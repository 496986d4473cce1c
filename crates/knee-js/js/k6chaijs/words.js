// knee's own k6chaijs: words without brackets, and assertions that compare one value with another.
//
// In messages, `#{this}` is the value, `#{exp}` what was expected and `#{act}` what was found.

import { article, kindOf, nameOf, typeOf } from './type.js';

const LINKS = 'to be been is and has have with that which at of same but does still also'.split(' ');
const FLAGS = ['deep', 'nested', 'own', 'ordered'];

// Adds the words to a library.
export function addWords({ Assertion, util }) {
  const { flag } = util;
  LINKS.forEach((word) => Assertion.addProperty(word));
  const setting = (word, ...flags) =>
    Assertion.addProperty(word, function set() {
      flags.forEach(([name, value]) => flag(this, name, value));
    });
  setting('not', ['negate', true]);
  FLAGS.forEach((word) => setting(word, [word, true]));
  setting('any', ['any', true], ['all', false]);
  setting('all', ['all', true], ['any', false]);

  function isA(type, message) {
    if (message) flag(this, 'message', message);
    const wanted = article(type.toLowerCase());
    const held = kindOf(flag(this, 'object')) === type.toLowerCase();
    this.assert(held, `expected #{this} to be ${wanted}`, `expected #{this} not to be ${wanted}`);
  }
  for (const word of ['an', 'a']) Assertion.addChainableMethod(word, isA);
}

// Words that assert: `expect(value).to.be.true`.
export function addStates({ Assertion, AssertionError, util }) {
  const { flag } = util;
  const state = (word, test, words, opposite, expected) =>
    Assertion.addProperty(word, function assertState() {
      const more = expected === undefined ? [] : [expected(!!flag(this, 'negate'))];
      this.assert(test(flag(this, 'object')), `expected #{this} ${words}`, `expected #{this} ${opposite}`, ...more);
    });
  state('ok', (value) => value, 'to be truthy', 'to be falsy');
  state('true', (value) => value === true, 'to be true', 'to be false', (isNot) => !isNot);
  state('false', (value) => value === false, 'to be false', 'to be true', (isNot) => isNot);
  state('null', (value) => value === null, 'to be null', 'not to be null');
  state('undefined', (value) => value === undefined, 'to be undefined', 'not to be undefined');
  state('NaN', Number.isNaN, 'to be NaN', 'not to be NaN');
  for (const word of ['exist', 'exists']) {
    state(word, (value) => value !== null && value !== undefined, 'to exist', 'to not exist');
  }
  Assertion.addProperty('empty', function isEmpty() {
    const prefix = flag(this, 'message') ? `${flag(this, 'message')}: ` : '';
    const size = sizeOf(flag(this, 'object'), (words) => new AssertionError((prefix + words).trim()), util.inspect);
    this.assert(size === 0, 'expected #{this} to be empty', 'expected #{this} not to be empty');
  });
  for (const word of ['arguments', 'Arguments']) {
    Assertion.addProperty(word, function isArguments() {
      const type = typeOf(flag(this, 'object'));
      const words = `expected #{this} to be arguments but got ${type}`;
      this.assert(type === 'Arguments', words, 'expected #{this} to not be arguments');
    });
  }
}

// How much is in a value, for `empty`.
function sizeOf(value, error, inspect) {
  const kind = kindOf(value);
  if (kind === 'array' || kind === 'string') return value.length;
  if (kind === 'map' || kind === 'set') return value.size;
  if (kind === 'weakmap' || kind === 'weakset') throw error('.empty was passed a weak collection');
  if (kind === 'function') throw error(`.empty was passed a function ${nameOf(value)}`);
  if (value !== Object(value)) throw error(`.empty was passed non-string primitive ${inspect(value)}`);
  return Object.keys(value).length;
}

// `equal` and `eql`.
export function addEquality({ Assertion, util }) {
  const { flag } = util;
  function equal(expected, message) {
    if (message) flag(this, 'message', message);
    if (flag(this, 'deep')) {
      this.eql(expected);
      return;
    }
    const held = expected === flag(this, 'object');
    const words = ['expected #{this} to equal #{exp}', 'expected #{this} to not equal #{exp}'];
    this.assert(held, ...words, expected, this._obj, true);
  }
  for (const word of ['equal', 'equals', 'eq']) Assertion.addMethod(word, equal);

  function eql(expected, message) {
    if (message) flag(this, 'message', message);
    const held = flag(this, 'eql')(expected, flag(this, 'object'));
    const words = ['expected #{this} to deeply equal #{exp}', 'expected #{this} to not deeply equal #{exp}'];
    this.assert(held, ...words, expected, this._obj, true);
  }
  for (const word of ['eql', 'eqls']) Assertion.addMethod(word, eql);
}

// What can be done with an object.
export function addObjectStates({ Assertion, util }) {
  const state = (word, test, words) =>
    Assertion.addProperty(word, function assertState() {
      const held = test(util.flag(this, 'object'));
      this.assert(held, `expected #{this} to be ${words}`, `expected #{this} to not be ${words}`);
    });
  state('extensible', (value) => value === Object(value) && Object.isExtensible(value), 'extensible');
  state('sealed', (value) => value !== Object(value) || Object.isSealed(value), 'sealed');
  state('frozen', (value) => value !== Object(value) || Object.isFrozen(value), 'frozen');
  state('finite', (value) => typeof value === 'number' && Number.isFinite(value), 'a finite number');
}

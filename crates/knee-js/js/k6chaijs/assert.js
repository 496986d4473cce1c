// knee's own k6chaijs: the style `assert.equal(value, 1)`.
//
// Most functions only are other words for a chain: the chain stands beside each, and how many arguments it takes.

import { failing } from './should.js';

// `name: chain`: assert.name(value, message) is expect(value, message).chain.
const STATES = {
  isOk: 'ok', isNotOk: 'not.ok', isTrue: 'true', isFalse: 'false', isNaN: 'NaN', isNotNaN: 'not.NaN', exists: 'exist',
  notExists: 'not.exist', isFinite: 'finite', isExtensible: 'extensible', isNotExtensible: 'not.extensible',
  isSealed: 'sealed', isNotSealed: 'not.sealed', isFrozen: 'frozen', isNotFrozen: 'not.frozen', isEmpty: 'empty',
  isNotEmpty: 'not.empty',
};
// The same with a fixed argument: `name: [chain, argument]`.
const FIXED = {
  isNotTrue: ['not.equal', true], isNotFalse: ['not.equal', false], isNull: ['equal', null],
  isNotNull: ['not.equal', null], isUndefined: ['equal', undefined], isDefined: ['not.equal', undefined],
};
for (const kind of ['Function', 'Object', 'Array', 'String', 'Number', 'Boolean']) {
  FIXED[`is${kind}`] = ['a', kind.toLowerCase()];
  FIXED[`isNot${kind}`] = ['not.a', kind.toLowerCase()];
}
// assert.name(value, argument, message).
const ONE = {
  strictEqual: 'equal', notStrictEqual: 'not.equal', deepEqual: 'eql', deepStrictEqual: 'eql', notDeepEqual: 'not.eql',
  isAbove: 'above', isAtLeast: 'least', isBelow: 'below', isAtMost: 'most', typeOf: 'a', notTypeOf: 'not.a',
  instanceOf: 'instanceOf', notInstanceOf: 'not.instanceOf', match: 'match', notMatch: 'not.match',
  lengthOf: 'lengthOf', hasAnyKeys: 'any.keys', hasAllKeys: 'all.keys', containsAllKeys: 'contain.all.keys',
  doesNotHaveAnyKeys: 'not.any.keys', doesNotHaveAllKeys: 'not.all.keys', hasAnyDeepKeys: 'any.deep.keys',
  hasAllDeepKeys: 'all.deep.keys', containsAllDeepKeys: 'contain.all.deep.keys',
  doesNotHaveAnyDeepKeys: 'not.any.deep.keys', doesNotHaveAllDeepKeys: 'not.all.deep.keys', oneOf: 'oneOf',
  property: 'property', notProperty: 'not.property', ownProperty: 'own.property', notOwnProperty: 'not.own.property',
  nestedProperty: 'nested.property', notNestedProperty: 'not.nested.property', sameMembers: 'members',
  notSameMembers: 'not.members', includeMembers: 'include.members', notIncludeMembers: 'not.include.members',
};
for (const [name, words] of [['', ''], ['Deep', 'deep.'], ['Nested', 'nested.'], ['DeepNested', 'deep.nested.'],
  ['Own', 'own.'], ['DeepOwn', 'deep.own.']]) {
  const plain = `${name}Include`;
  ONE[plain[0].toLowerCase() + plain.slice(1)] = `${words}include`;
  ONE[`not${plain}`] = `not.${words}include`;
}
for (const [name, words] of [['Deep', 'deep.'], ['Ordered', 'ordered.'], ['DeepOrdered', 'deep.ordered.']]) {
  ONE[`same${name}Members`] = `${words}members`;
  ONE[`notSame${name}Members`] = `not.${words}members`;
  ONE[`include${name}Members`] = `include.${words}members`;
  ONE[`notInclude${name}Members`] = `not.include.${words}members`;
}
// assert.name(value, first, second, message).
const TWO = { closeTo: 'closeTo', approximately: 'approximately' };
for (const [name, words] of [['', ''], ['Deep', 'deep.'], ['Own', 'own.'], ['DeepOwn', 'deep.own.'],
  ['Nested', 'nested.'], ['DeepNested', 'deep.nested.']]) {
  const plain = `${name}PropertyVal`;
  TWO[plain[0].toLowerCase() + plain.slice(1)] = `${words}property`;
  TWO[`not${plain}`] = `not.${words}property`;
}
const ALIASES = {
  ok: 'isOk', notOk: 'isNotOk', throw: 'throws', Throw: 'throws', extensible: 'isExtensible',
  notExtensible: 'isNotExtensible', sealed: 'isSealed', notSealed: 'isNotSealed', frozen: 'isFrozen',
  notFrozen: 'isNotFrozen', empty: 'isEmpty', notEmpty: 'isNotEmpty',
};

// The last word of a chain, with `this`.
const walk = (chain, words) => words.split('.').reduce((step, word) => step[word], chain);

function call(chain, words, given) {
  const steps = words.split('.');
  const last = steps.pop();
  const before = steps.length === 0 ? chain : walk(chain, steps.join('.'));
  return before[last](...given);
}

// Adds `assert` to a library.
export function addAssert(library) {
  const { Assertion, AssertionError } = library;
  function assert(condition, message) {
    new Assertion(null, null).assert(condition, message, '[ negation message unavailable ]');
  }
  library.assert = assert;
  const on = (value, message) => new Assertion(value, message).to;
  const add = (table, make) => Object.entries(table).forEach(([name, words]) => {
    assert[name] = make(words);
  });
  assert.fail = failing(AssertionError, 'assert.fail()');
  add(STATES, (words) => (value, message) => {
    walk(on(value, message), words);
  });
  add(FIXED, ([words, argument]) => (value, message) => {
    call(on(value, message), words, [argument]);
  });
  add(ONE, (words) => (value, argument, message) => {
    call(on(value, message), words, [argument]);
  });
  add(TWO, (words) => (value, first, second, message) => {
    call(on(value, message), words, [first, second]);
  });
  addLoose(library, assert);
  addThrows(library, assert);
  addDeltas(library, assert);
  add(ALIASES, (name) => assert[name]);
}

const OPERATORS = {
  // eslint-disable-next-line eqeqeq
  '==': (one, other) => one == other, '!=': (one, other) => one != other,
  '===': (one, other) => one === other, '!==': (one, other) => one !== other,
  '>': (one, other) => one > other, '>=': (one, other) => one >= other,
  '<': (one, other) => one < other, '<=': (one, other) => one <= other,
};

function addLoose({ Assertion, AssertionError, util }, assert) {
  assert.equal = (value, expected, message) => {
    const words = ['expected #{this} to equal #{exp}', 'expected #{this} to not equal #{act}'];
    new Assertion(value, message).assert(OPERATORS['=='](expected, value), ...words, expected, value, true);
  };
  assert.notEqual = (value, expected, message) => {
    const words = ['expected #{this} to not equal #{exp}', 'expected #{this} to equal #{act}'];
    new Assertion(value, message).assert(OPERATORS['!='](expected, value), ...words, expected, value, true);
  };
  assert.operator = (value, operator, other, message) => {
    if (!Object.hasOwn(OPERATORS, operator)) {
      const prefix = message && `${message}: `;
      throw new AssertionError(`${prefix}Invalid operator "${operator}"`);
    }
    const held = OPERATORS[operator](value, other);
    const words = (to) => `expected ${util.inspect(value)} ${to} be ${operator} ${util.inspect(other)}`;
    new Assertion(held, message).assert(held === true, words('to'), words('to not'));
  };
  assert.ifError = (value) => {
    if (value) throw value;
  };
}

function addThrows({ Assertion, util }, assert) {
  const isText = (value) => typeof value === 'string' || value instanceof RegExp;
  const sorted = (first, second) => (isText(first) ? [null, first] : [first, second]);
  assert.throws = (value, first, second, message) => {
    const chain = new Assertion(value, message).to.throw(...sorted(first, second));
    return util.flag(chain, 'object');
  };
  assert.doesNotThrow = (value, first, second, message) => {
    new Assertion(value, message).to.not.throw(...sorted(first, second));
  };
}

// assert.name(call, subject, property, message), or without a property when the subject is a function.
function addDeltas({ Assertion }, assert) {
  const plain = (name, words, isGiven = true) => {
    assert[name] = function assertDelta(value, subject, property, message) {
      const isCalled = arguments.length === 3 && typeof subject === 'function';
      const [own, text] = isCalled ? [null, property] : [property, message];
      const chain = call(new Assertion(value, text).to, words, [subject, own]);
      return isGiven ? chain : undefined;
    };
  };
  const by = (name, words, after, isGiven = false) => {
    assert[name] = function assertDeltaBy(value, subject, ...rest) {
      let [property, delta, message] = rest;
      if (rest.length === 2 && typeof subject === 'function') [property, delta, message] = [rest[0], rest[0], rest[1]];
      else if (rest.length === 1) [property, delta] = [null, rest[0]];
      const chain = call(call(new Assertion(value, message).to, words, [subject, property]), after, [delta]);
      return isGiven ? chain : undefined;
    };
  };
  plain('changes', 'change', false);
  by('changesBy', 'change', 'by');
  plain('doesNotChange', 'not.change');
  by('changesButNotBy', 'change', 'but.not.by');
  plain('increases', 'increase');
  by('increasesBy', 'increase', 'by');
  plain('doesNotIncrease', 'not.increase');
  by('increasesButNotBy', 'increase', 'but.not.by');
  plain('decreases', 'decrease');
  by('decreasesBy', 'decrease', 'by');
  plain('doesNotDecrease', 'not.decrease');
  by('doesNotDecreaseBy', 'not.decrease', 'by', true);
  by('decreasesButNotBy', 'decrease', 'but.not.by');
}

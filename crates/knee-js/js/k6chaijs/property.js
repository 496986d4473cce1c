// knee's own k6chaijs: assertions about properties, kinds of objects, and texts.

import { hasProperty, pathInfo } from './path.js';
import { nameOf, typeOf } from './type.js';

const isNothing = (value) => value === undefined || value === null;

// Refuses names and values that `property` cannot look at.
function refusal(name, value, isNested, isOwn) {
  const kind = typeof name;
  if (isNested && kind !== 'string') return 'the argument to property must be a string when using nested syntax';
  if (!['string', 'number', 'symbol'].includes(kind)) {
    return 'the argument to property must be a string, number, or symbol';
  }
  if (isNested && isOwn) return 'The "nested" and "own" flags cannot be combined.';
  return isNothing(value) ? 'Target cannot be null or undefined.' : undefined;
}

// Adds `property` and its kin to a library.
export function addProperties({ Assertion, AssertionError, util }) {
  const { flag, inspect } = util;

  function property(name, expected, message) {
    if (message) flag(this, 'message', message);
    const [isNested, isOwn, isDeep] = ['nested', 'own', 'deep'].map((word) => flag(this, word));
    const value = flag(this, 'object');
    const refused = refusal(name, value, isNested, isOwn);
    const prefix = flag(this, 'message') ? `${flag(this, 'message')}: ` : '';
    if (refused !== undefined) throw new AssertionError(prefix + refused);
    const path = isNested ? pathInfo(value, name) : null;
    const found = isNested ? path.value : value[name];
    let isThere = isNested ? path.exists : hasProperty(value, name);
    if (isOwn) isThere = Object.prototype.hasOwnProperty.call(value, name);
    const kind = `${isDeep ? 'deep ' : ''}${isOwn ? 'own ' : ''}${isNested ? 'nested ' : ''}property `;
    const [has, hasNot] = [`expected #{this} to have ${kind}`, `expected #{this} to not have ${kind}`];
    const shown = inspect(name);
    if (!flag(this, 'negate') || arguments.length === 1) this.assert(isThere, has + shown, hasNot + shown);
    if (arguments.length > 1) {
      const isSame = isDeep ? flag(this, 'eql') : (one, other) => one === other;
      const held = isThere && isSame(expected, found);
      this.assert(held, `${has}${shown} of #{exp}, but got #{act}`, `${hasNot}${shown} of #{act}`, expected, found);
    }
    flag(this, 'object', found);
  }
  Assertion.addMethod('property', property);

  function ownProperty(...given) {
    flag(this, 'own', true);
    property.apply(this, given);
  }
  for (const word of ['ownProperty', 'haveOwnProperty']) Assertion.addMethod(word, ownProperty);

  function descriptor(name, given, text) {
    const [expected, message] = typeof given === 'string' ? [null, given] : [given, text];
    if (message) flag(this, 'message', message);
    const found = Object.getOwnPropertyDescriptor(Object(flag(this, 'object')), name);
    if (found && expected) {
      const start = `expected the own property descriptor for ${inspect(name)} on #{this} to`;
      const shown = inspect(expected);
      const words = [`${start} match ${shown}, got ${inspect(found)}`, `${start} not match ${shown}`];
      this.assert(flag(this, 'eql')(expected, found), ...words, expected, found, true);
    } else {
      const what = `have an own property descriptor for ${inspect(name)}`;
      this.assert(found, `expected #{this} to ${what}`, `expected #{this} to not ${what}`);
    }
    flag(this, 'object', found);
  }
  for (const word of ['ownPropertyDescriptor', 'haveOwnPropertyDescriptor']) Assertion.addMethod(word, descriptor);
}

// `instanceof`.
export function addInstances({ Assertion, AssertionError, util }) {
  const { flag } = util;
  function instanceOf(maker, message) {
    if (message) flag(this, 'message', message);
    let held;
    try {
      held = flag(this, 'object') instanceof maker;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const prefix = flag(this, 'message') ? `${flag(this, 'message')}: ` : '';
      const words = `The instanceof assertion needs a constructor but ${typeOf(maker)} was given.`;
      throw new AssertionError(prefix + words);
    }
    const name = nameOf(maker) === null ? 'an unnamed constructor' : nameOf(maker);
    const what = `be an instance of ${name}`;
    this.assert(held, `expected #{this} to ${what}`, `expected #{this} to not ${what}`);
  }
  for (const word of ['instanceof', 'instanceOf']) Assertion.addMethod(word, instanceOf);
}

// `match` and `string`.
export function addTexts({ Assertion, util }) {
  const { flag } = util;
  function match(pattern, message) {
    if (message) flag(this, 'message', message);
    const held = pattern.exec(flag(this, 'object'));
    this.assert(held, `expected #{this} to match ${pattern}`, `expected #{this} not to match ${pattern}`);
  }
  for (const word of ['match', 'matches']) Assertion.addMethod(word, match);

  Assertion.addMethod('string', function contains(part, message) {
    if (message) flag(this, 'message', message);
    const value = flag(this, 'object');
    new Assertion(value, flag(this, 'message')).is.a('string');
    const shown = util.inspect(part);
    const held = value.indexOf(part) !== -1;
    this.assert(held, `expected #{this} to contain ${shown}`, `expected #{this} to not contain ${shown}`);
  });
}

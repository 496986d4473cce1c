// knee's own k6chaijs: assertions about what lists, maps, sets and objects hold.

import { kindOf, typeOf } from './type.js';

const isSame = (one, other) => one === other;

// Adds `include` to a library.
export function addInclusion({ Assertion, AssertionError, util }) {
  const { flag, inspect } = util;

  // An object holds the parts that each are a property of it.
  function includesParts(assertion, parts) {
    const names = Object.keys(parts);
    const isNot = flag(assertion, 'negate');
    let first = null;
    let failures = 0;
    for (const name of names) {
      const part = new Assertion(flag(assertion, 'object'));
      util.transferFlags(assertion, part, true);
      try {
        part.property(name, parts[name]);
      } catch (error) {
        // With `not`, one part that is missing is enough.
        if (!isNot || names.length === 1 || !(error instanceof AssertionError)) throw error;
        first = first === null ? error : first;
        failures += 1;
      }
    }
    if (isNot && names.length > 1 && failures === names.length) throw first;
  }

  function include(part, message) {
    if (message) flag(this, 'message', message);
    const value = flag(this, 'object');
    const kind = kindOf(value);
    const isDeep = flag(this, 'deep');
    const alike = isDeep ? flag(this, 'eql') : (one, other) => isSame(one, other) || Object.is(one, other);
    const prefix = flag(this, 'message') ? `${flag(this, 'message')}: ` : '';
    let held;
    if (kind === 'string') {
      held = value.indexOf(part) !== -1;
    } else if (kind === 'weakset') {
      if (isDeep) throw new AssertionError(`${prefix}unable to use .deep.include with WeakSet`);
      held = value.has(part);
    } else if (kind === 'map' || (kind === 'set' && isDeep)) {
      held = [...value.values()].some((item) => alike(item, part));
    } else if (kind === 'set') {
      held = value.has(part);
    } else if (kind === 'array') {
      held = isDeep ? value.some((item) => alike(item, part)) : value.indexOf(part) !== -1;
    } else {
      if (part !== Object(part)) throw new AssertionError(prefix + refusal(kind, kindOf(part)));
      includesParts(this, part);
      return;
    }
    const words = `${isDeep ? 'deep ' : ''}include ${inspect(part)}`;
    this.assert(held, `expected #{this} to ${words}`, `expected #{this} to not ${words}`);
  }
  function setContains() {
    flag(this, 'contains', true);
  }
  for (const word of ['include', 'contain', 'contains', 'includes']) {
    Assertion.addChainableMethod(word, include, setContains);
  }
}

const refusal = (kind, part) =>
  `the given combination of arguments (${kind} and ${part}) is invalid for this assertion. ` +
  `You can use an array, a map, an object, a set, a string, or a weakset instead of a ${part}`;

const KEYS_REFUSED =
  'when testing keys against an object or an array you must give a single Array|Object|String argument' +
  ' or multiple String arguments';

// The keys that are asked for, out of the arguments; undefined if there are too many arguments.
function keysAsked(given, isCollection) {
  const [first] = given;
  const type = typeOf(first);
  if (isCollection) return type === 'Array' ? first : given;
  if (['Array', 'Object'].includes(type) && given.length > 1) return undefined;
  let keys = type === 'Array' ? first : given;
  if (type === 'Object') keys = Object.keys(first);
  return keys.map((key) => (typeof key === 'symbol' ? key : String(key)));
}

// Adds `keys` to a library.
export function addKeys({ Assertion, AssertionError, util }) {
  const { flag, inspect } = util;
  function keys(...given) {
    const value = flag(this, 'object');
    const isCollection = ['Map', 'Set'].includes(typeOf(value));
    const isDeep = flag(this, 'deep');
    const prefix = flag(this, 'message') ? `${flag(this, 'message')}: ` : '';
    const found = isCollection ? [...value.keys()] : util.getOwnEnumerableProperties(value);
    const asked = keysAsked(given, isCollection);
    if (asked === undefined) throw new AssertionError(prefix + KEYS_REFUSED);
    if (asked.length === 0) throw new AssertionError(`${prefix}keys required`);
    const isAny = flag(this, 'any');
    const isAll = flag(this, 'all') || !isAny;
    const contains = flag(this, 'contains');
    const alike = isDeep ? flag(this, 'eql') : isSame;
    const has = (key) => found.some((candidate) => alike(key, candidate));
    let held = true;
    if (isAny) held = asked.some(has);
    if (isAll) held = asked.every(has) && (contains || asked.length === found.length);
    const shown = asked.map((key) => inspect(key));
    const last = shown.pop();
    const list = shown.length > 0 ? `keys ${shown.join(', ')}, ${isAll ? 'and' : 'or'} ${last}` : `key ${last}`;
    const words = `${isDeep && isCollection ? 'deeply ' : ''}${contains ? 'contain' : 'have'} ${list}`;
    const sorted = (items) => items.slice().sort(util.compareByInspect);
    const both = [`expected #{this} to ${words}`, `expected #{this} to not ${words}`];
    this.assert(held, ...both, sorted(asked), sorted(found), true);
  }
  for (const word of ['keys', 'key']) Assertion.addMethod(word, keys);
}

// Whether `part` has the members of `whole`, or some of them when it only is contained.
function areMembers(part, whole, alike, isContained, isOrdered) {
  if (!isContained && part.length !== whole.length) return false;
  const rest = whole.slice();
  return part.every((item, at) => {
    if (isOrdered) return alike(item, rest[at]);
    const found = rest.findIndex((candidate) => alike(item, candidate));
    if (found >= 0 && !isContained) rest.splice(found, 1);
    return found >= 0;
  });
}

// Adds `members` and `oneOf` to a library.
export function addMembers({ Assertion, util }) {
  const { flag } = util;
  const needArray = (value, assertion) => new Assertion(value, flag(assertion, 'message')).to.be.an('array');

  Assertion.addMethod('members', function members(expected, message) {
    if (message) flag(this, 'message', message);
    const value = flag(this, 'object');
    needArray(value, this);
    needArray(expected, this);
    const [isContained, isOrdered] = [flag(this, 'contains'), flag(this, 'ordered')];
    const what = isContained
      ? `be ${isOrdered ? 'an ordered' : 'a'} superset of #{exp}`
      : `have the same ${isOrdered ? 'ordered ' : ''}members as #{exp}`;
    const alike = flag(this, 'deep') ? flag(this, 'eql') : isSame;
    const held = areMembers(expected, value, alike, isContained, isOrdered);
    this.assert(held, `expected #{this} to ${what}`, `expected #{this} to not ${what}`, expected, value, true);
  });

  Assertion.addMethod('oneOf', function oneOf(list, message) {
    if (message) flag(this, 'message', message);
    const value = flag(this, 'object');
    needArray(list, this);
    if (flag(this, 'contains')) {
      const held = list.some((item) => value.indexOf(item) > -1);
      const words = ['expected #{this} to contain one of #{exp}', 'expected #{this} to not contain one of #{exp}'];
      this.assert(held, ...words, list, value);
    } else if (flag(this, 'deep')) {
      // `not` has the same words, as in the original.
      const words = 'expected #{this} to deeply equal one of #{exp}';
      this.assert(list.some((item) => flag(this, 'eql')(value, item)), words, words, list, value);
    } else {
      const words = ['expected #{this} to be one of #{exp}', 'expected #{this} to not be one of #{exp}'];
      this.assert(list.indexOf(value) > -1, ...words, list, value);
    }
  });
}

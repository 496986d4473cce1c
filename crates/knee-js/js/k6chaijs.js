// knee's own answer to https://jslib.k6.io/k6chaijs: describe() as a group, expect() chains as checks.
//
// Written from the documented interface; it contains nothing of the original. The assertions that scripts use are
// here, and plugins by chai.use(); the `should` style is not.

import { check, group } from 'k6';
import exec from 'k6/execution';

export const config = {
  truncateThreshold: 40,
  truncateVariableThreshold: 100,
  truncateMsgThreshold: 300,
  aggregateChecks: true,
  logFailures: false,
  exitOnError: false,
};

export class AssertionError extends Error {
  constructor(message, { actual, expected } = {}) {
    super(message);
    this.name = 'AssertionError';
    this.actual = actual;
    this.expected = expected;
  }
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most)}...` : text);

// ---- values as texts -----------------------------------------------------------------------------------------

const kindOf = (value) => {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  return Object.prototype.toString.call(value).slice(8, -1).toLowerCase();
};

function textOf(text, room) {
  const escaped = text.replace(/\\/g, '\\\\').replace(/'/g, "\\'").replace(/\n/g, '\\n').replace(/\r/g, '\\r');
  return escaped.length + 2 > room ? `'${escaped.slice(0, Math.max(0, room - 3))}\u2026'` : `'${escaped}'`;
}

// Items between two brackets, as many as there is room for, and how many are left.
function listOf(open, close, items, room, show) {
  if (items.length === 0) return open + close;
  const inner = room - open.length - close.length - 2;
  let text = '';
  for (let at = 0; at < items.length; at += 1) {
    const left = items.length - at;
    const comma = text === '' ? '' : ', ';
    const item = comma + show(items[at], inner - text.length);
    const more = left > 1 ? `, \u2026(${left - 1})`.length : 0;
    if (text.length + item.length + more > inner) return `${open} ${text}${comma}\u2026(${left}) ${close}`;
    text += item;
  }
  return `${open} ${text} ${close}`;
}

export function inspect(value, room = config.truncateThreshold || Infinity, seen = []) {
  const kind = kindOf(value);
  if (kind === 'string') return textOf(value, room);
  if (kind === 'number') return Object.is(value, -0) ? '-0' : `${value === 0 ? '+' : ''}${value}`;
  if (kind === 'bigint') return `${value}n`;
  if (kind === 'function') return value.name === '' ? '[Function]' : `[Function ${value.name}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (kind === 'date') return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (kind === 'regexp') return String(value);
  if (value instanceof Error) return `[${value.name}: ${value.message}]`;
  if (seen.includes(value)) return '[Circular]';
  const inner = (item, left) => inspect(item, left, [...seen, value]);
  if (Array.isArray(value)) return listOf('[', ']', value, room, inner);
  if (value instanceof Set) return `Set${listOf('{', '}', [...value], room - 3, inner)}`;
  const pair = ([name, item], left) => `${name}: ${inner(item, left - name.length - 2)}`;
  if (value instanceof Map) {
    const entry = ([key, item], left) => `${inner(key, left)} => ${inner(item, left)}`;
    return `Map${listOf('{', '}', [...value], room - 3, entry)}`;
  }
  const maker = value.constructor;
  const name = typeof maker === 'function' && maker !== Object ? maker.name : '';
  const shown = (key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : textOf(key, Infinity));
  const pairs = Object.keys(value).map((key) => [shown(key), value[key]]);
  return name + listOf('{', '}', pairs, room - name.length, pair);
}

// ---- equality ------------------------------------------------------------------------------------------------

function sameKeys(one, other, seen) {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && alike(one[key], other[key], seen));
}

// Whether two values are alike all the way down.
export function alike(one, other, seen = []) {
  if (Object.is(one, other) || one === other) return Object.is(one, other) || one !== 0;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const kind = kindOf(one);
  if (kind !== kindOf(other)) return false;
  if (kind === 'date') return Object.is(one.getTime(), other.getTime());
  if (kind === 'regexp') return String(one) === String(other);
  if (one instanceof Error || kind === 'promise') return false;
  if (seen.some((pair) => pair[0] === one && pair[1] === other)) return true;
  const path = [...seen, [one, other]];
  if (one instanceof ArrayBuffer) return alike(new Uint8Array(one), new Uint8Array(other), path);
  if (one instanceof Map || one instanceof Set) {
    const rest = [...other];
    return one.size === other.size && [...one].every((item) => takeAlike(rest, item, path));
  }
  return (!Array.isArray(one) || one.length === other.length) && sameKeys(one, other, path);
}

// Takes the first item that is alike out of a list.
function takeAlike(rest, item, seen) {
  const at = rest.findIndex((candidate) => alike(candidate, item, seen));
  if (at >= 0) rest.splice(at, 1);
  return at >= 0;
}

// ---- assertions ----------------------------------------------------------------------------------------------

// `a.b[1].c` as steps.
const stepsOf = (path) => Array.from(String(path).matchAll(/[^.[\]]+/g), (match) => match[0]);
const isNumber = (value) => typeof value === 'number' || value instanceof Date;
const article = (word) => (/^[aeiou]/i.test(word) ? `an ${word}` : `a ${word}`);

function keysShown(keys, word) {
  const shown = keys.map((key) => inspect(key));
  if (shown.length === 1) return `key ${shown[0]}`;
  return `keys ${shown.slice(0, -1).join(', ')}, ${word} ${shown[shown.length - 1]}`;
}

class Assertion {
  constructor(value, name) {
    this.value = value;
    this.label = name;
    this.flags = {};
  }

  same(one, other) {
    return this.flags.deep ? alike(one, other) : one === other;
  }

  // One check. In the templates, #{this} is the value, #{exp} what was expected, #{act} what was found.
  check(isHeld, template, negated, expected, actual = this.value) {
    const held = this.flags.not ? !isHeld : Boolean(isHeld);
    const words = this.flags.not ? negated : template;
    const fill = (subject, found) =>
      words.replace(/#\{(this|exp|act)\}/g, (_, what) => ({ this: subject, exp: inspect(expected), act: found })[what]);
    const plain = fill(inspect(this.value), inspect(actual));
    // Aggregated checks are named by the label, so the message does without it.
    const message = this.label === undefined || config.aggregateChecks ? plain : `${this.label}: ${plain}`;
    const shape = () => fill(this.label === undefined ? '${this}' : this.label, '${actual}');
    const name = config.aggregateChecks ? shortened(shape(), config.truncateVariableThreshold) : message;
    check(null, { [name]: held });
    if (held) return this;
    const short = shortened(message, config.truncateVariableThreshold);
    if (config.logFailures) console.warn(short);
    if (config.exitOnError) exec.test.abort(plain);
    throw new AssertionError(short, { actual, expected });
  }

  // A condition that must hold whatever `not` says, such as that a list is a list.
  need(isHeld, template) {
    const { not } = this.flags;
    this.flags.not = false;
    this.check(isHeld, template, template);
    this.flags.not = not;
  }

  refuse(words) {
    throw new AssertionError(`${this.label === undefined ? '' : `${this.label}: `}${words}`);
  }

  // The number that is compared: the value, or its length.
  measured() {
    if (!this.flags.length) {
      if (!isNumber(this.value)) this.refuse(`expected ${inspect(this.value)} to be a number or a date`);
      return this.value;
    }
    if (this.value instanceof Map || this.value instanceof Set) return this.value.size;
    this.need(this.value !== null && this.value !== undefined && 'length' in Object(this.value), "expected #{this} to have property 'length'");
    return this.value.length;
  }

  compare(isHeld, words, opposite, limit) {
    if (this.flags.length) {
      return this.check(isHeld, `expected #{this} to have a length ${words} #{exp} got #{act}`, `expected #{this} to have a length ${opposite} #{exp}`, limit, this.measuredLength);
    }
    return this.check(isHeld, `expected #{this} to be ${words} #{exp}`, `expected #{this} to be ${opposite} #{exp}`, limit);
  }
}

// Words that only make a sentence of the chain.
const WORDS = 'to be been is and has have with that which at of same but does still also'.split(' ');
// Words that change what the next assertion means.
const FLAGS = ['not', 'deep', 'nested', 'own', 'ordered', 'any', 'all'];

const statement = (test, words, opposite = `not ${words}`) =>
  function state() {
    return this.check(test(this.value), `expected #{this} to be ${words}`, `expected #{this} to ${opposite.startsWith('not') ? `not be ${words}` : `be ${opposite}`}`);
  };

const isEmpty = (value) => {
  if (typeof value === 'string' || Array.isArray(value)) return value.length === 0;
  if (value instanceof Map || value instanceof Set) return value.size === 0;
  return Object.keys(Object(value)).length === 0;
};

// Assertions without brackets.
const STATEMENTS = {
  true: statement((value) => value === true, 'true', 'false'),
  false: statement((value) => value === false, 'false', 'true'),
  null: statement((value) => value === null, 'null'),
  undefined: statement((value) => value === undefined, 'undefined'),
  NaN: statement((value) => Number.isNaN(value), 'NaN'),
  ok: statement(Boolean, 'truthy', 'falsy'),
  finite: statement((value) => Number.isFinite(value), 'a finite number'),
  extensible: statement((value) => Object.isExtensible(value), 'extensible'),
  frozen: statement((value) => Object.isFrozen(value), 'frozen'),
  sealed: statement((value) => Object.isSealed(value), 'sealed'),
  exist() {
    return this.check(this.value !== null && this.value !== undefined, 'expected #{this} to exist', 'expected #{this} to not exist');
  },
  empty() {
    return this.check(isEmpty(this.value), 'expected #{this} to be empty', 'expected #{this} not to be empty');
  },
  arguments() {
    const kind = Object.prototype.toString.call(this.value).slice(8, -1);
    return this.check(kind === 'Arguments', `expected #{this} to be arguments got ${kind}`, 'expected #{this} to not be arguments');
  },
};
STATEMENTS.exists = STATEMENTS.exist;
STATEMENTS.Arguments = STATEMENTS.arguments;

function property(name, ...rest) {
  const { nested, own, deep } = this.flags;
  if (this.value === null || this.value === undefined) this.refuse('Target cannot be null or undefined.');
  const steps = nested ? stepsOf(name) : [name];
  let holder = Object(this.value);
  for (const step of steps.slice(0, -1)) holder = holder === undefined || holder === null ? undefined : holder[step];
  const last = steps[steps.length - 1];
  const isThere = holder !== undefined && holder !== null && (own ? Object.prototype.hasOwnProperty.call(holder, last) : last in Object(holder));
  const found = isThere ? holder[last] : undefined;
  const kind = `${deep ? 'deep ' : ''}${own ? 'own ' : ''}${nested ? 'nested ' : ''}property ${inspect(name)}`;
  if (!this.flags.not || rest.length === 0) this.check(isThere, `expected #{this} to have ${kind}`, `expected #{this} to not have ${kind}`, name, found);
  if (rest.length > 0) {
    const matches = isThere && this.same(rest[0], found);
    this.check(matches, `expected #{this} to have ${kind} of #{exp}, got #{act}`, `expected #{this} to not have ${kind} of #{act}`, rest[0], found);
  }
  this.value = found;
  return this;
}

function include(part) {
  const { value } = this;
  const deep = this.flags.deep ? 'deep ' : '';
  const words = [`expected #{this} to ${deep}include #{exp}`, `expected #{this} to not ${deep}include #{exp}`];
  if (typeof value === 'string' && typeof part === 'string') return this.check(value.includes(part), ...words, part);
  if (Array.isArray(value) || value instanceof Set) {
    const found = [...value].some((item) => (this.flags.deep ? alike(item, part) : item === part || Object.is(item, part)));
    return this.check(found, ...words, part);
  }
  if (value instanceof Map) return this.check([...value.values()].some((item) => this.same(item, part)), ...words, part);
  if (value === null || typeof value !== 'object' || part === null || typeof part !== 'object') {
    this.refuse(`the given combination of arguments (${kindOf(value)} and ${kindOf(part)}) is invalid for this assertion`);
  }
  for (const name of Object.keys(part)) {
    property.call(this, name, part[name]);
    this.value = value;
  }
  return this;
}

function keys(...given) {
  const expected = given.flatMap((item) => (item !== null && typeof item === 'object' && !Array.isArray(item) ? Object.keys(item) : item));
  const { any, contains } = this.flags;
  const actual = this.value instanceof Map || this.value instanceof Set ? [...this.value.keys()] : Object.keys(Object(this.value));
  const has = (key) => actual.some((found) => (typeof key === 'object' ? alike(found, key) : String(found) === String(key)));
  const held = any ? expected.some(has) : expected.every(has) && (contains || expected.length === actual.length);
  const shown = keysShown(expected, any ? 'or' : 'and');
  const verb = contains ? 'contain' : 'have';
  return this.check(held, `expected #{this} to ${verb} ${shown}`, `expected #{this} to not ${verb} ${shown}`);
}

function members(expected) {
  const { value, flags } = this;
  const isSame = flags.deep ? alike : Object.is;
  this.need(Array.isArray(value), 'expected #{this} to be an array');
  this.need(Array.isArray(expected), 'expected #{this} to be an array');
  const rest = [...value];
  const take = (item, at) => {
    if (flags.ordered) return at < value.length && isSame(value[at], item);
    const found = rest.findIndex((candidate) => isSame(candidate, item));
    if (found >= 0 && !flags.contains) rest.splice(found, 1);
    return found >= 0;
  };
  const held = expected.every(take) && (flags.contains || expected.length === value.length);
  const subject = `${flags.ordered ? 'ordered ' : ''}members`;
  const words = flags.contains ? `be ${flags.ordered ? 'an ordered' : 'a'} superset of` : `have the same ${subject} as`;
  return this.check(held, `expected #{this} to ${words} #{exp}`, `expected #{this} to not ${words} #{exp}`, expected);
}

function throws(kind, pattern) {
  this.need(typeof this.value === 'function', 'expected #{this} to be a function');
  let caught;
  let isThrown = false;
  try {
    this.value();
  } catch (error) {
    caught = error;
    isThrown = true;
  }
  const isKind = typeof kind === 'function';
  const wanted = isKind ? pattern : kind;
  const name = isKind ? kind.name : 'an error';
  const text = caught !== null && typeof caught === 'object' && 'message' in caught ? caught.message : String(caught);
  const matches = wanted === undefined || (wanted instanceof RegExp ? wanted.test(text) : text.includes(String(wanted)));
  const held = isThrown && (!isKind || caught instanceof kind) && matches;
  const detail = isThrown ? ' but #{act} was thrown' : '';
  const said = wanted === undefined || !isThrown || (isKind && !(caught instanceof kind)) ? '' : ` with a message like ${inspect(wanted)}`;
  const shown = isThrown ? String(caught) : undefined;
  const template = held ? `expected #{this} to throw ${name}` : `expected #{this} to throw ${name}${said}${detail}`;
  this.check(held, template, `expected #{this} to not throw ${name}`, name, shown);
  this.value = caught;
  return this;
}

// Assertions with brackets.
const CALLS = {
  equal(expected, name) {
    if (name !== undefined) this.label = name;
    if (this.flags.deep) return CALLS.eql.call(this, expected);
    return this.check(this.value === expected, 'expected #{this} to equal #{exp}', 'expected #{this} to not equal #{exp}', expected);
  },
  eql(expected, name) {
    if (name !== undefined) this.label = name;
    return this.check(alike(this.value, expected), 'expected #{this} to deeply equal #{exp}', 'expected #{this} to not deeply equal #{exp}', expected);
  },
  above(limit) {
    this.measuredLength = this.measured();
    return this.compare(this.measuredLength > limit, 'above', 'at most', limit);
  },
  least(limit) {
    this.measuredLength = this.measured();
    return this.compare(this.measuredLength >= limit, 'at least', 'below', limit);
  },
  below(limit) {
    this.measuredLength = this.measured();
    return this.compare(this.measuredLength < limit, 'below', 'at least', limit);
  },
  most(limit) {
    this.measuredLength = this.measured();
    return this.compare(this.measuredLength <= limit, 'at most', 'above', limit);
  },
  within(from, to) {
    const value = this.measured();
    const lead = this.flags.length ? 'have a length' : 'be';
    const range = `${from instanceof Date ? from.toISOString() : from}..${to instanceof Date ? to.toISOString() : to}`;
    return this.check(value >= from && value <= to, `expected #{this} to ${lead} within ${range}`, `expected #{this} to not ${lead} within ${range}`);
  },
  closeTo(expected, delta) {
    this.need(typeof this.value === 'number', 'expected #{this} to be a number');
    const near = Math.abs(this.value - expected) <= delta;
    return this.check(near, `expected #{this} to be close to ${expected} +/- ${delta}`, `expected #{this} not to be close to ${expected} +/- ${delta}`);
  },
  property,
  ownProperty(...given) {
    this.flags.own = true;
    return property.call(this, ...given);
  },
  keys,
  members,
  throw: throws,
  match(pattern) {
    return this.check(pattern.exec(this.value) !== null, `expected #{this} to match ${pattern}`, `expected #{this} not to match ${pattern}`);
  },
  string(part) {
    this.need(typeof this.value === 'string', 'expected #{this} to be a string');
    return this.check(this.value.includes(part), 'expected #{this} to contain #{exp}', 'expected #{this} to not contain #{exp}', part);
  },
  instanceof(maker) {
    return this.check(this.value instanceof maker, `expected #{this} to be an instance of ${maker.name}`, `expected #{this} to not be an instance of ${maker.name}`);
  },
  oneOf(list) {
    this.need(Array.isArray(list), 'expected #{this} to be an array');
    const found = list.some((item) => this.same(item, this.value));
    return this.check(found, 'expected #{this} to be one of #{exp}', 'expected #{this} to not be one of #{exp}', list);
  },
  satisfy(test) {
    return this.check(test(this.value), `expected #{this} to satisfy ${inspect(test)}`, `expected #{this} to not satisfy ${inspect(test)}`);
  },
  respondTo(name) {
    const holder = typeof this.value === 'function' && !this.flags.itself ? this.value.prototype : this.value;
    const held = holder !== null && holder !== undefined && typeof holder[name] === 'function';
    return this.check(held, `expected #{this} to respond to ${inspect(name)}`, `expected #{this} to not respond to ${inspect(name)}`);
  },
  // The body of an answer is JSON.
  validJsonBody() {
    let isValid = true;
    try {
      this.value.json();
    } catch (error) {
      isValid = false;
    }
    // The check has this name whatever the label, and `not` does not turn it round.
    new Assertion(undefined).check(isValid, 'has valid json body', '');
    return this;
  },
};

const ALIASES = {
  equal: 'equals eq', eql: 'eqls', above: 'gt greaterThan', least: 'gte greaterThanOrEqual', below: 'lt lessThan',
  most: 'lte lessThanOrEqual', closeTo: 'approximately', ownProperty: 'haveOwnProperty', keys: 'key', throw: 'throws Throw',
  match: 'matches', instanceof: 'instanceOf', satisfy: 'satisfies', respondTo: 'respondsTo',
};
for (const [name, others] of Object.entries(ALIASES)) for (const other of others.split(' ')) CALLS[other] = CALLS[name];

function isA(kind) {
  const found = kindOf(this.value);
  const wanted = String(kind).toLowerCase();
  return this.check(found === wanted || (wanted === 'function' && typeof this.value === 'function'), `expected #{this} to be ${article(wanted)}`, `expected #{this} not to be ${article(wanted)}`);
}

function lengthOf(expected) {
  this.flags.length = true;
  const length = this.measured();
  return this.check(length === expected, 'expected #{this} to have a length of #{exp} got #{act}', 'expected #{this} to not have a length of #{act}', expected, length);
}

// Words that can be called and can go on: `to.be.a('string')`, `to.be.an.instanceof(K)`, `include.keys('a')`.
const BOTH = {
  a: [isA], an: [isA],
  include: [include, 'contains'], includes: [include, 'contains'], contain: [include, 'contains'], contains: [include, 'contains'],
  length: [lengthOf, 'length'], lengthOf: [lengthOf, 'length'],
};

// The assertion behind a chain, for plugins.
const behind = new WeakMap();
// Words that plugins have added: `{ method }`, `{ property }` or both.
const ADDED = {};

// The chain around an assertion: it knows the words, and refuses others.
function chain(assertion) {
  const self = new Proxy(assertion, {
    set(target, word, value) {
      if (word !== '_obj') return false;
      target.value = value;
      return true;
    },
    get(target, word) {
      if (word === '_obj') return target.value;
      if (word === 'assert') return (...given) => target.check(...given) && self;
      if (Object.hasOwn(ADDED, word)) return added(self, ADDED[word]);
      if (typeof word === 'symbol' || ['then', 'catch', 'inspect', 'toJSON'].includes(word)) return undefined;
      if (WORDS.includes(word)) return self;
      if (FLAGS.includes(word)) {
        target.flags[word] = true;
        return self;
      }
      if (Object.hasOwn(STATEMENTS, word)) {
        STATEMENTS[word].call(target);
        return self;
      }
      const bound = (call) => (...given) => {
        call.apply(target, given);
        return self;
      };
      if (Object.hasOwn(CALLS, word)) return bound(CALLS[word]);
      if (Object.hasOwn(BOTH, word)) {
        const [call, flag] = BOTH[word];
        return new Proxy(bound(call), {
          get(_, next) {
            if (flag !== undefined) target.flags[flag] = true;
            return self[next];
          },
        });
      }
      throw new Error(`Invalid Chai property: ${word}`);
    },
  });
  behind.set(self, assertion);
  return self;
}

// A word of a plugin, whose functions see the chain as `this`; what they give back goes on, or the chain does.
function added(self, { method, property: getter }) {
  const value = getter === undefined ? undefined : getter.call(self);
  if (method === undefined) return value === undefined ? self : value;
  const call = (...given) => {
    const result = method.apply(self, given);
    return result === undefined ? self : result;
  };
  return new Proxy(call, { get: (_, next) => self[next] });
}

// `new chai.Assertion(value)`, and what plugins add to it.
function AssertionOf(value, name) {
  return expect(value, name);
}
AssertionOf.addMethod = (name, method) => {
  ADDED[name] = { method };
};
AssertionOf.addProperty = (name, getter) => {
  ADDED[name] = { property: getter };
};
AssertionOf.addChainableMethod = (name, method, getter) => {
  ADDED[name] = { method, property: getter };
};

const FLAG_NAMES = { negate: 'not' };

// A flag of a chain: read, or set when a value is given.
function flag(self, name, ...value) {
  const target = behind.get(self);
  const key = FLAG_NAMES[name] || name;
  if (value.length > 0) {
    if (name === 'object') [target.value] = value;
    else if (name === 'message') [target.label] = value;
    else [target.flags[key]] = value;
    return undefined;
  }
  if (name === 'object') return target.value;
  return name === 'message' ? target.label : target.flags[key];
}

const util = { flag, inspect, eql: alike, type: kindOf };

function use(plugin) {
  plugin(chai, util);
  return chai;
}

export function expect(value, name) {
  return chain(new Assertion(value, name));
}

expect.fail = (message = 'expect.fail()') => {
  throw new AssertionError(message);
};

// A group whose failures end the group and nothing else; whether it held.
export function describe(name, body) {
  let held = true;
  const fail = (error) => {
    held = false;
    if (error instanceof AssertionError) return;
    console.error(`Exception raised in test "${name}". Failing the test and continuing. \n${error}`);
    check(null, { [`Exception raised "${error}"`]: false });
  };
  group(name, () => {
    try {
      const result = body();
      if (result !== null && typeof result === 'object' && typeof result.then === 'function') result.then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  });
  return held;
}

// ---- assert --------------------------------------------------------------------------------------------------

export function assert(condition, message) {
  check(null, { [message === undefined ? 'assert' : message]: Boolean(condition) });
  if (!condition) throw new AssertionError(message);
}

const ASSERTS = {
  equal: (chained, expected) => chained.to.satisfyLoosely(expected),
  strictEqual: (chained, expected) => chained.to.equal(expected),
  notStrictEqual: (chained, expected) => chained.to.not.equal(expected),
  deepEqual: (chained, expected) => chained.to.eql(expected),
  notDeepEqual: (chained, expected) => chained.to.not.eql(expected),
  include: (chained, part) => chained.to.include(part),
  notInclude: (chained, part) => chained.to.not.include(part),
  match: (chained, pattern) => chained.to.match(pattern),
  property: (chained, name) => chained.to.have.property(name),
  lengthOf: (chained, length) => chained.to.have.lengthOf(length),
  isAbove: (chained, limit) => chained.to.be.above(limit),
  isAtLeast: (chained, limit) => chained.to.be.at.least(limit),
  isBelow: (chained, limit) => chained.to.be.below(limit),
  isAtMost: (chained, limit) => chained.to.be.at.most(limit),
  instanceOf: (chained, maker) => chained.to.be.instanceof(maker),
  oneOf: (chained, list) => chained.to.be.oneOf(list),
};
CALLS.satisfyLoosely = function satisfyLoosely(expected) {
  // eslint-disable-next-line eqeqeq
  return this.check(this.value == expected, 'expected #{this} to equal #{exp}', 'expected #{this} to not equal #{exp}', expected);
};
for (const [name, run] of Object.entries(ASSERTS)) {
  assert[name] = (value, other, message) => run(expect(value, message), other);
}

const ASSERT_STATEMENTS = {
  isOk: 'ok', isTrue: 'true', isFalse: 'false', isNull: 'null', isUndefined: 'undefined', exists: 'exist', isEmpty: 'empty', isNaN: 'NaN',
};
for (const [name, word] of Object.entries(ASSERT_STATEMENTS)) assert[name] = (value, message) => expect(value, message)[word];
const ASSERT_NOT = { isNotOk: 'ok', isNotTrue: 'true', isNotNull: 'null', isDefined: 'undefined', notExists: 'exist', isNotEmpty: 'empty' };
for (const [name, word] of Object.entries(ASSERT_NOT)) assert[name] = (value, message) => expect(value, message).not[word];
const ASSERT_KINDS = { isArray: 'array', isObject: 'object', isString: 'string', isNumber: 'number', isBoolean: 'boolean', isFunction: 'function' };
for (const [name, kind] of Object.entries(ASSERT_KINDS)) assert[name] = (value, message) => expect(value, message).to.be.a(kind);

export const chai = { config, AssertionError, Assertion: AssertionOf, expect, assert, use, util };
export default chai;

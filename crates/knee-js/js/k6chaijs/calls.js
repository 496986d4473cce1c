// knee's own k6chaijs: assertions that call something: `throw`, `respondTo`, `satisfy`, `change` and their kin.

import { nameOf } from './type.js';

// How errors are compared and named. Classes of errors have the name they would give to their instances.
export const checkError = {
  compatibleInstance: (thrown, expected) => expected instanceof Error && thrown === expected,

  compatibleConstructor(thrown, expected) {
    if (expected instanceof Error) {
      return thrown.constructor === expected.constructor || thrown instanceof expected.constructor;
    }
    const isClass = expected.prototype instanceof Error || expected === Error;
    return isClass && (thrown.constructor === expected || thrown instanceof expected);
  },

  compatibleMessage(thrown, wanted) {
    const text = typeof thrown === 'string' ? thrown : thrown.message;
    if (wanted instanceof RegExp) return wanted.test(text);
    return typeof wanted === 'string' ? text.indexOf(wanted) !== -1 : false;
  },

  getMessage: (thrown) => (thrown && thrown.message) || (typeof thrown === 'string' ? thrown : ''),

  getConstructorName(error) {
    if (error instanceof Error) return nameOf(error.constructor);
    if (typeof error !== 'function') return error;
    return nameOf(error) || nameOf(new error()) || '';
  },
};

const isText = (value) => value instanceof RegExp || typeof value === 'string';
const textOf = (error) => (error instanceof Error ? error.toString() : error && checkError.getConstructorName(error));
const NOT_THIS = ['expected #{this} to throw #{exp} but #{act} was thrown', 'expected #{this} to not throw #{exp}'];

function thrownBy(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

// Asserts that anything was thrown.
function assertThrown(assertion, kind, thrown) {
  let what = 'an error';
  if (kind instanceof Error) what = '#{exp}';
  else if (kind) what = checkError.getConstructorName(kind);
  const shown = typeof thrown === 'string' ? thrown : textOf(thrown);
  const words = [`expected #{this} to throw ${what}`, 'expected #{this} to not throw an error but #{act} was thrown'];
  assertion.assert(thrown, ...words, kind && kind.toString(), shown);
}

// Asserts the kind of what was thrown. True when `isDeferred` and the assertion failed only in part.
function assertKind(assertion, kind, thrown, isNot, isDeferred) {
  let failed = false;
  if (kind instanceof Error && checkError.compatibleInstance(thrown, kind) === isNot) {
    if (isDeferred) failed = true;
    else {
      const more = thrown && !isNot ? ' but #{act} was thrown' : '';
      assertion.assert(isNot, NOT_THIS[0], NOT_THIS[1] + more, kind.toString(), thrown.toString());
    }
  }
  if (checkError.compatibleConstructor(thrown, kind) !== isNot) return failed;
  if (!isDeferred) refuseKind(assertion, kind, thrown, isNot);
  return true;
}

function refuseKind(assertion, kind, thrown, isNot) {
  const more = thrown ? ' but #{act} was thrown' : '';
  assertion.assert(isNot, NOT_THIS[0], NOT_THIS[1] + more, textOf(kind), textOf(thrown));
}

// Asserts the message of what was thrown; see assertKind.
function assertMessage(assertion, wanted, thrown, isNot, isDeferred) {
  if (checkError.compatibleMessage(thrown, wanted) !== isNot) return false;
  if (!isDeferred) {
    const how = wanted instanceof RegExp ? 'matching' : 'including';
    const plain = `expected #{this} to throw error ${how} #{exp} but got #{act}`;
    const negated = `expected #{this} to throw error not ${how} #{exp}`;
    assertion.assert(isNot, plain, negated, wanted, checkError.getMessage(thrown));
  }
  return true;
}

// Adds `throw` to a library.
export function addThrowing({ Assertion, util }) {
  const { flag } = util;
  function throws(first, second, message) {
    if (message) flag(this, 'message', message);
    const call = flag(this, 'object');
    const isNot = flag(this, 'negate') || false;
    new Assertion(call, flag(this, 'message')).is.a('function');
    const [kind, wanted] = isText(first) ? [null, first] : [first, second];
    const thrown = thrownBy(call);
    const isAnything = kind === undefined && wanted === undefined;
    if (isAnything || !isNot) assertThrown(this, kind, thrown);
    // With `not`, an error of another kind or with another message is right.
    const isDeferred = Boolean(kind && wanted) && isNot;
    const isKind = kind && thrown ? assertKind(this, kind, thrown, isNot, isDeferred) : false;
    const hasText = thrown && wanted !== undefined && wanted !== null;
    const isMessage = hasText ? assertMessage(this, wanted, thrown, isNot, isDeferred) : false;
    if (isDeferred && isKind && isMessage) refuseKind(this, kind, thrown, isNot);
    flag(this, 'object', thrown);
  }
  for (const word of ['throw', 'throws', 'Throw']) Assertion.addMethod(word, throws);
}

// Adds `respondTo`, `itself` and `satisfy` to a library.
export function addResponses({ Assertion, util }) {
  const { flag, inspect, objDisplay } = util;
  function respondTo(name, message) {
    if (message) flag(this, 'message', message);
    const value = flag(this, 'object');
    const method = typeof value === 'function' && !flag(this, 'itself') ? value.prototype[name] : value[name];
    const words = `respond to ${inspect(name)}`;
    this.assert(typeof method === 'function', `expected #{this} to ${words}`, `expected #{this} to not ${words}`);
  }
  for (const word of ['respondTo', 'respondsTo']) Assertion.addMethod(word, respondTo);
  Assertion.addProperty('itself', function setItself() {
    flag(this, 'itself', true);
  });

  function satisfy(test, message) {
    if (message) flag(this, 'message', message);
    const found = test(flag(this, 'object'));
    const shown = objDisplay(test);
    const words = [`expected #{this} to satisfy ${shown}`, `expected #{this} to not satisfy${shown}`];
    this.assert(found, ...words, !flag(this, 'negate'), found);
  }
  for (const word of ['satisfy', 'satisfies']) Assertion.addMethod(word, satisfy);
}

const CHANGES = {
  change: { words: ['change', 'changes'], delta: (before, after) => after !== before, held: (delta) => delta },
  increase: { words: ['increase', 'increases'], delta: (before, after) => after - before, held: (delta) => delta > 0 },
  decrease: { words: ['decrease', 'decreases'], delta: (before, after) => before - after, held: (delta) => delta > 0 },
};

// Adds `change`, `increase`, `decrease` and `by` to a library.
export function addChanges({ Assertion, util }) {
  const { flag } = util;
  for (const [behavior, { words, delta, held }] of Object.entries(CHANGES)) {
    const changes = function changes(subject, property, message) {
      if (message) flag(this, 'message', message);
      const call = flag(this, 'object');
      const need = (value) => new Assertion(value, flag(this, 'message'));
      need(call).is.a('function');
      if (property) need(subject).to.have.property(property);
      else need(subject).is.a('function');
      const before = property ? subject[property] : subject();
      if (behavior !== 'change') need(before).is.a('number');
      call();
      const isCalled = property === undefined || property === null;
      const after = isCalled ? subject() : subject[property];
      const name = isCalled ? before : `.${property}`;
      const found = delta(before, after);
      const kept = {
        deltaMsgObj: name, initialDeltaValue: before, finalDeltaValue: after, deltaBehavior: behavior, realDelta: found,
      };
      for (const [key, value] of Object.entries(kept)) flag(this, key, value);
      this.assert(held(found), `expected ${name} to ${behavior}`, `expected ${name} to not ${behavior}`);
    };
    words.forEach((word) => Assertion.addMethod(word, changes));
  }

  Assertion.addMethod('by', function by(delta, message) {
    if (message) flag(this, 'message', message);
    const [name, behavior] = [flag(this, 'deltaMsgObj'), flag(this, 'deltaBehavior')];
    const size = Math.abs(flag(this, 'finalDeltaValue') - flag(this, 'initialDeltaValue'));
    const found = behavior === 'change' ? size : flag(this, 'realDelta');
    const words = `${behavior} by ${delta}`;
    this.assert(found === Math.abs(delta), `expected ${name} to ${words}`, `expected ${name} to not ${words}`);
  });
}

// knee's own answer to https://jslib.k6.io/k6chaijs: `chai` with everything but the checks of k6.
//
// Written from the documented interface and from what the original was seen to do; it contains nothing of it.
// Messages, details of errors, the order of checks and suggestions for unknown words are those of the original.

import { addAssert } from './assert.js';
import { addChanges, addResponses, addThrowing, checkError } from './calls.js';
import { chains } from './chain.js';
import { alike } from './equal.js';
import { AssertionError } from './error.js';
import { display, inspect as inspectIn } from './inspect.js';
import { addInclusion, addKeys, addMembers } from './members.js';
import { addCloseness, addLengths, addNumbers } from './numbers.js';
import { hasProperty, pathInfo } from './path.js';
import { addInstances, addProperties, addTexts } from './property.js';
import { addShould, failing } from './should.js';
import { article, nameOf, typeOf } from './type.js';
import { addEquality, addObjectStates, addStates, addWords } from './words.js';

const isoDate = (date) => date.toISOString();

// A library. `version` is what it says of itself, `equality` holds options of alike(), `hasDeepEqual` adds a setting,
// `show` inspects values, and `dateText` writes the dates of a range.
export function library({ version, equality, hasDeepEqual = false, show = inspectIn, dateText = isoDate }) {
  const config = {
    includeStack: false,
    showDiff: true,
    truncateThreshold: 40,
    useProxy: true,
    proxyExcludedKeys: ['then', 'catch', 'inspect', 'toJSON'],
    ...(hasDeepEqual ? { deepEqual: null } : {}),
  };
  const eql = (one, other, options) => alike(one, other, { ...equality, ...options });
  const { Assertion, util: chainUtil } = chains(config, () => (hasDeepEqual && config.deepEqual) || eql);
  const util = { ...chainUtil, ...helpers(config, chainUtil.flag, show), eql };
  const chai = { version, AssertionError, util, config, Assertion };
  const used = [];
  chai.use = (plugin) => {
    if (!used.includes(plugin)) {
      plugin(chai, util);
      used.push(plugin);
    }
    return chai;
  };
  addBase(chai);
  addAllWords(chai, dateText);
  chai.expect = (value, message) => new Assertion(value, message);
  chai.expect.fail = failing(AssertionError, 'expect.fail()');
  addShould(chai);
  addAssert(chai);
  return chai;
}

// `assert` of an assertion without k6, and its value.
function addBase({ Assertion, AssertionError: Failure, util, config }) {
  Assertion.prototype.assert = function assert(...given) {
    if (util.test(this, given)) return;
    const [, , , expected, found, showDiff] = given;
    const isDiff = showDiff !== false && !(expected === undefined && found === undefined) && config.showDiff === true;
    const details = { actual: util.getActual(this, given), expected, showDiff: isDiff };
    const operator = util.getOperator(this, given);
    if (operator) details.operator = operator;
    throw new Failure(util.getMessage(this, given), details);
  };
  Object.defineProperty(Assertion.prototype, '_obj', {
    get() {
      return util.flag(this, 'object');
    },
    set(value) {
      util.flag(this, 'object', value);
    },
  });
}

// All words, in the order in which suggestions look at them.
function addAllWords(chai, dateText) {
  addWords(chai);
  addInclusion(chai);
  addStates(chai);
  addEquality(chai);
  addNumbers(chai, dateText);
  addInstances(chai);
  addProperties(chai);
  addLengths(chai);
  addTexts(chai);
  addKeys(chai);
  addThrowing(chai);
  addResponses(chai);
  addCloseness(chai);
  addMembers(chai);
  addChanges(chai);
  addObjectStates(chai);
}

// What plugins get beside the functions about chains.
function helpers(config, flag, show) {
  const getActual = (assertion, given) => (given.length > 4 ? given[4] : assertion._obj);
  const inspect = (value) => show(value, config.truncateThreshold);
  const objDisplay = (value) => display(value, config.truncateThreshold, show);
  const symbolsOf = (object) => Object.getOwnPropertySymbols(object)
    .filter((symbol) => Object.getOwnPropertyDescriptor(object, symbol).enumerable);
  return {
    test: (assertion, [condition]) => (flag(assertion, 'negate') ? !condition : condition),
    type: typeOf,
    expectTypes: expectTypes(flag),
    getMessage: messages(flag, getActual, objDisplay),
    getActual,
    inspect,
    objDisplay,
    getPathInfo: pathInfo,
    hasProperty,
    getName: nameOf,
    compareByInspect: (one, other) => (inspect(one) < inspect(other) ? -1 : 1),
    getOwnEnumerablePropertySymbols: symbolsOf,
    getOwnEnumerableProperties: (object) => Object.keys(object).concat(symbolsOf(object)),
    checkError,
    isNaN: Number.isNaN,
    getOperator: operators(flag),
  };
}

function expectTypes(flag) {
  return (assertion, types) => {
    const wanted = types.map((type) => type.toLowerCase()).sort();
    const found = typeOf(flag(assertion, 'object')).toLowerCase();
    if (wanted.includes(found)) return;
    const isLast = (at) => wanted.length > 1 && at === wanted.length - 1;
    const list = wanted.map((type, at) => `${isLast(at) ? 'or ' : ''}${article(type)}`).join(', ');
    const prefix = flag(assertion, 'message') ? `${flag(assertion, 'message')}: ` : '';
    throw new AssertionError(`${prefix}object tested must be ${list}, but ${found} given`);
  };
}

function messages(flag, getActual, objDisplay) {
  return (assertion, given) => {
    let words = flag(assertion, 'negate') ? given[2] : given[1];
    if (typeof words === 'function') words = words();
    const text = (words || '')
      .replace(/#\{this\}/g, () => objDisplay(flag(assertion, 'object')))
      .replace(/#\{act\}/g, () => objDisplay(getActual(assertion, given)))
      .replace(/#\{exp\}/g, () => objDisplay(given[3]));
    return flag(assertion, 'message') ? `${flag(assertion, 'message')}: ${text}` : text;
  };
}

// The operator that a tool which shows differences should use; undefined where there is nothing to compare.
function operators(flag) {
  return (assertion, given) => {
    const operator = flag(assertion, 'operator');
    if (operator) return operator;
    let words = flag(assertion, 'negate') ? given[2] : given[1];
    if (typeof words === 'function') words = words();
    if (!words || /\shave\s/.test(words)) return undefined;
    const isDeep = ['Array', 'Object', 'function'].includes(typeOf(given[3]));
    if (/\snot\s/.test(words)) return isDeep ? 'notDeepStrictEqual' : 'notStrictEqual';
    return isDeep ? 'deepStrictEqual' : 'strictEqual';
  };
}

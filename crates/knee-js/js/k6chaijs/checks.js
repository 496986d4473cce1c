// knee's own k6chaijs: assertions as checks of k6, and describe() as a group of them.
//
// Releases differ in how checks are named, in the tags of checks, and in what the error knows.

import { check, group } from 'k6';

const every = (mark) => new RegExp(`#{${mark}}`, 'g');
const shortened = (text, most) => (text.length > most ? `${text.substring(0, most)}...` : text);

// What the releases since 4.3.4.2 do: `hasTags` puts the values into tags of the check, `abort` ends the test.
export function currentChecks(chai, { hasTags, abort }) {
  const { config, util } = chai;
  const short = (text) => shortened(text, config.truncateVariableThreshold);
  const shown = (value) => short(util.objDisplay(value));

  // The words of an assertion, with what was expected.
  function wordsOf(assertion, plain, negated, expected) {
    const anonymize = util.flag(assertion, 'anonymizeMsgFunction');
    let words = (util.flag(assertion, 'negate') ? negated : plain).replace('but ', '');
    if (anonymize) words = anonymize(words);
    if (typeof words === 'function') words = words();
    return (words || '').replace(every('exp'), () => shown(expected));
  }

  return function assert(test, plain, negated, expected, actual) {
    const held = util.test(this, [test]);
    const words = wordsOf(this, plain, negated, expected);
    const label = util.flag(this, 'message');
    const value = util.flag(this, 'object');
    let message = words.replace(every('this'), () => shown(value)).replace(every('act'), () => shown(actual));
    if (label && !config.aggregateChecks) message = `${label}: ${message}`;
    const shape = () => words.replace(every('this'), () => label || '${this}').replace(every('act'), () => '${actual}');
    const name = config.aggregateChecks ? short(shape()) : message;
    const tags = { this: shown(value), actual: shown(actual), expected: shown(expected) };
    check(null, { [name]: () => held }, ...(hasTags ? [tags] : []));
    if (held) return;
    const text = short(message);
    const operator = util.getOperator(this, [test, plain, negated, expected]);
    const details = { actual, expected, showDiff: !expected && !actual, operator };
    if (config.logFailures) console.warn(text);
    if (abort && config.exitOnError) abort(text);
    throw new chai.AssertionError(text, details);
  };
}

// What 4.3.4.0 and 4.3.4.1 do: the value stands for what was found where nothing else is given.
export function firstChecks(chai, { areAggregated }) {
  const { config, util } = chai;

  // The message, and the name of the check.
  function textsOf(assertion, given) {
    const room = areAggregated ? config.truncateVariableThreshold : config.truncateValueThreshold;
    const shown = (value) => shortened(util.objDisplay(value), room);
    const anonymize = util.flag(assertion, 'anonymizeMsgFunction');
    const label = util.flag(assertion, 'message');
    const texts = {
      this: shown(util.flag(assertion, 'object')),
      actual: shown(util.getActual(assertion, given)),
      expected: shown(given[3]),
    };
    let words = util.flag(assertion, 'negate') ? given[2] : given[1];
    if (areAggregated) words = words.replace('but ', '');
    if (anonymize) words = anonymize(words);
    if (typeof words === 'function') words = words();
    words = words || '';
    const withExpected = (text) => text.replace(every('exp'), () => texts.expected);
    const filled = (text) => text.replace(every('this'), () => texts.this).replace(every('act'), () => texts.actual);
    const named = withExpected(words).replace(every('this'), () => label || '${this}');
    const shape = named.replace(every('act'), () => '${actual}');
    const plain = areAggregated ? filled(withExpected(words)) : withExpected(filled(words));
    const message = label && !(areAggregated && config.aggregateChecks) ? `${label}: ${plain}` : plain;
    const name = areAggregated && config.aggregateChecks ? shape : message;
    const most = config.truncateMsgThreshold;
    return { name: shortened(name, most), message: shortened(message, most), texts };
  }

  return function assert(...given) {
    const held = util.test(this, given);
    const [, , , expected, actual, showDiff] = given;
    const isDiff = showDiff !== false && !(expected === undefined && actual === undefined) && config.showDiff === true;
    const { name, message, texts } = textsOf(this, given);
    const details = { actual: util.getActual(this, given), expected, showDiff: isDiff };
    // 4.3.4.1 hands over the value itself, and k6 calls it when it is a function.
    check(null, { [name]: areAggregated ? held : Boolean(held) }, ...(areAggregated ? [texts] : []));
    if (held) return;
    const operator = util.getOperator(this, given);
    if (operator) details.operator = operator;
    if (areAggregated && config.logFailures) console.warn(message);
    // 4.3.4.1 hands over the details as a text, so its errors do not have them as properties.
    throw new chai.AssertionError(message, areAggregated ? JSON.stringify(details) : details);
  };
}

// Adds `anonymize` and `validJsonBody`. `isOwn` makes the latter an assertion about the answer.
export function addOwnWords(chai, { isOwn, path }) {
  const { Assertion, util } = chai;
  const anonymous = (words = '') => words.replace(every('this'), () => '<anonymized>');
  Assertion.addMethod('anonymize', function anonymize(change) {
    util.flag(this, 'anonymizeMsgFunction', change || anonymous);
  });
  Assertion.addMethod('validJsonBody', function validJsonBody() {
    const value = util.flag(this, 'object');
    let isValid = true;
    try {
      value.json(...path);
    } catch (error) {
      isValid = false;
    }
    if (isOwn) this.assert(isValid, 'has valid json body', 'does not have a valid json body', null, null);
    else chai.assert(isValid, 'has valid json body');
  });
}

// A group whose failures end the group and nothing else. Returns whether it held.
export function describe(name, body) {
  let held = true;
  group(name, () => {
    try {
      body();
    } catch (error) {
      held = false;
      if (error.name === 'AssertionError') return;
      console.error(`Exception raised in test "${name}". Failing the test and continuing. \n${error}`);
      check(null, { [`Exception raised "${error}"`]: () => false });
    }
  });
  return held;
}

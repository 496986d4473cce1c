// knee's own answer to https://jslib.k6.io/k6chaijs: release 4.3.4.1, whose checks have tags for the values and whose
// errors do not know them. It has no default export.

import { addOwnWords, describe, firstChecks } from './checks.js';
import { inspectLines } from './inspect-lines.js';
import { library } from './library.js';

const chai = library({
  version: '4.3.3',
  equality: { symbols: 'none', errorsByIdentity: true },
  show: inspectLines,
  dateText: (date) => date.toUTCString(),
});
Object.assign(chai.config, {
  truncateVariableThreshold: 100, truncateMsgThreshold: 300, aggregateChecks: true, logFailures: false,
});
const assert = firstChecks(chai, { areAggregated: true });
chai.Assertion.overwriteMethod('assert', () => assert);
addOwnWords(chai, { isOwn: true, path: [] });

const { expect } = chai;
export { chai, describe, expect };

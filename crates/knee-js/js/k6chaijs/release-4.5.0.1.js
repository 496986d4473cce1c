// knee's own answer to https://jslib.k6.io/k6chaijs: release 4.5.0.1, in which a failed assertion can end the test.

import exec from 'k6/execution';

import { addOwnWords, currentChecks, describe } from './checks.js';
import { library } from './library.js';

const chai = library({ version: '4.3.8', equality: {}, hasDeepEqual: true });
Object.assign(chai.config, {
  truncateVariableThreshold: 100, truncateMsgThreshold: 300, aggregateChecks: true, logFailures: false,
  exitOnError: false,
});
addOwnWords(chai, { isOwn: false, path: ['__unlikelyidefintifier1'] });
const assert = currentChecks(chai, { hasTags: false, abort: (text) => exec.test.abort(text) });
chai.Assertion.overwriteMethod('assert', () => assert);

const { expect } = chai;
export { describe, expect };
export default chai;

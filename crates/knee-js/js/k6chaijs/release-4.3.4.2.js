// knee's own answer to https://jslib.k6.io/k6chaijs: release 4.3.4.2, whose checks have tags for the values.

import { addOwnWords, currentChecks, describe } from './checks.js';
import { library } from './library.js';

const chai = library({ version: '4.3.3', equality: { symbols: 'none', errorsByIdentity: true } });
Object.assign(chai.config, {
  truncateVariableThreshold: 100, truncateMsgThreshold: 300, aggregateChecks: true, logFailures: false,
});
addOwnWords(chai, { isOwn: false, path: ['__unlikelyidefintifier1'] });
const assert = currentChecks(chai, { hasTags: true });
chai.Assertion.overwriteMethod('assert', () => assert);

const { expect } = chai;
export { describe, expect };
export default chai;

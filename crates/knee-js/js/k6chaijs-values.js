// knee's own answer to the first two releases of https://jslib.k6.io/k6chaijs, whose checks are named by the value
// as well: `status: expected 200 to equal 200`.

import { chai, describe, expect } from 'https://jslib.k6.io/k6chaijs/4.5.0.1/index.js';

chai.config.aggregateChecks = false;

export { chai, describe, expect };
export default chai;

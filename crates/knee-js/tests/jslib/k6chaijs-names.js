// passed: 7
// failed: 25
// name 01: v0 status: expected 500 to equal 200
// name 02: v0 list: expected [ 1, 2 ] to have a length of 3 but got 2
// name 03: v0 keys: expected {} to have property 'a'
// name 04: v0 answer: has valid json body
// name 05: expected v1 status to equal 200
// name 06: expected v1 list to have a length of 3 got ${actual}
// name 07: expected v1 keys to have property 'a'
// name 08: has valid json body
// name 09: expected v2 status to equal 200
// name 10: expected v2 list to have a length of 3 got ${actual}
// name 11: expected v2 keys to have property 'a'
// name 12: expected v3 status to equal 200
// name 13: expected v3 list to have a length of 3 got ${actual}
// name 14: expected v3 keys to have property 'a'
// name 15: v5 status: expected 500 to equal 200
// name 16: v5 list: expected [ 1, 2 ] to have a length of 3 got 2
// name 17: v5 keys: expected {} to have property 'a'
// name 18: expected cut...
// name 19: has valid js...
// name 20: expected not...
// Releases name their checks in different ways.
import { chai as v0 } from 'https://jslib.k6.io/k6chaijs/4.3.4.0/index.js';
import { chai as v1 } from 'https://jslib.k6.io/k6chaijs/4.3.4.1/index.js';
import v2 from 'https://jslib.k6.io/k6chaijs/4.3.4.2/index.js';
import v3, { describe } from 'https://jslib.k6.io/k6chaijs/4.3.4.3/index.js';
import v5, { expect } from 'https://jslib.k6.io/k6chaijs/4.5.0.1/index.js';

const answer = { status: 500, json: () => { throw new Error('no JSON'); } };
const assertions = (label, chai) => [
  () => chai.expect(answer.status, `${label} status`).to.equal(200),
  () => chai.expect([1, 2], `${label} list`).to.have.lengthOf(3),
  () => chai.expect(0, `${label} odd`).to.include(1),
  () => chai.expect({}, `${label} keys`).to.have.property('a', 1),
  () => chai.expect(answer, `${label} answer`).to.have.validJsonBody(),
];
const errors = [];

function runAll(label, chai) {
  for (const assertion of assertions(label, chai)) {
    try {
      assertion();
    } catch (error) {
      errors.push(error.actual);
    }
  }
}

export default function () {
  [v0, v1, v2, v3].forEach((chai, at) => runAll(`v${at}`, chai));
  v5.config.aggregateChecks = false;
  runAll('v5', v5);
  v5.config.aggregateChecks = true;
  v5.config.truncateVariableThreshold = 12;
  runAll('cut', v5);
  describe('a group', () => {
    expect(1, 'held').to.equal(1);
    expect(1, 'not').to.equal(2);
    expect(1, 'never reached').to.equal(1);
  });
}

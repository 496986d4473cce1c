// passed: 2
// failed: 1
import {
  check, findBetween, normalDistributionStages, parseDuration, randomIntBetween, randomItem, randomString, uuidv4,
} from 'https://jslib.k6.io/k6-utils/1.5.0/index.js';
import { getCurrentStageIndex } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
import { findBetween as findFirst } from 'https://jslib.k6.io/k6-utils/1.1.0/index.js';

const same = (found, expected) => {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) console.error(`${one} instead of ${other}`);
};

const outcome = (call) => {
  try {
    return call();
  } catch (error) {
    return error.message;
  }
};
const DURATIONS = [
  ['1h2m3.5s', 3723500], ['5.25', 5.25], ['1.7ms', 1], ['-5s', 5000], ['1s2', 1002], ['s', 0], [5, 0],
  ['', 'str is empty'], ['5 s', '  is an unsupported time unit'], ['1m1m', 'm time unit is provided multiple times'],
];

export default function () {
  same(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuidv4()) && uuidv4()[14], '4');
  same(uuidv4() !== uuidv4(true), true);
  const seen = new Set(Array.from({ length: 500 }, () => randomIntBetween(1, 3)));
  same([...seen].sort(), [1, 2, 3]);
  same(randomItem(['a']), 'a');
  same(/^[a-z]{12}$/.test(randomString(12)), true);
  same(randomString(3, 'x'), 'xxx');
  same(findBetween('<b>1</b><b>2</b>', '<b>', '</b>'), '1');
  same(findBetween('<b>1</b><b>2</b>', '<b>', '</b>', true), ['1', '2']);
  same(findBetween('abc', 'x', 'c'), null);
  same(findFirst('abc', 'x', 'c'), '');
  for (const [text, expected] of DURATIONS) same(outcome(() => parseDuration(text)), expected);
  same(normalDistributionStages(10, 60, 5).map((stage) => `${stage.duration}:${stage.target}`), [
    '10s:1', '8s:5', '8s:10', '8s:10', '8s:5', '8s:1', '10s:0',
  ]);
  same(outcome(getCurrentStageIndex), 'only ramping-vus or ramping-arravial-rate supports stages, ' +
    'it is not possible to get a stage index on other executors.');
  same(check({ a: 1 }, { holds: (value) => value.a === 1, fails: (value) => value.a === 2 }), false);
  check(1, { later: async () => true }).then((held) => same(held, true));
}

// passed: 34
import { check } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
import * as metrics from 'k6/metrics';

const thrown = (call) => {
  try {
    return call();
  } catch (error) {
    return String(error);
  }
};
const name = (wrong) =>
  `GoError: Invalid metric name: '${wrong}'. Metric names must only include up to 128 ASCII letters, numbers, or underscores and start with a letter or an underscore.`;
const tag = "GoError: cannot add tags for the 'orders' custom metric: invalid value for metric tag 'a': only String, Boolean and Number types are accepted as a metric tag values";

const orders = new Counter('orders');
const loaded = {
  'no name': thrown(() => new Counter()) === name(''),
  'a number as name': thrown(() => new Counter(5)) === name('5'),
  'a wrong name': thrown(() => new Counter('a-b')) === name('a-b'),
  'another kind': thrown(() => new Trend('http_reqs')) === "GoError: metric 'http_reqs' already exists but with type counter, instead of trend",
  'another meaning': thrown(() => new Counter('orders', true)) === "GoError: metric 'orders' already exists but with a value type default, instead of time",
  'once more': new Counter('orders').name === 'orders',
  'one of k6': new Trend('http_req_duration', true).name === 'http_req_duration',
  'without new': Counter('plain').name === 'plain',
  'truthy is time': new Trend('spans', 'yes').name === new Trend('spans', 1).name,
  'what it is': JSON.stringify(orders) === '{"name":"orders"}' && Object.keys(orders).join() === 'name,add',
  'too early': thrown(() => orders.add(1)) === 'GoError: Adding to metrics in the init context is not supported',
  'all of them': ['Counter', 'Gauge', 'Rate', 'Trend'].every((kind) => kind in metrics),
};

export default function () {
  check(loaded, Object.fromEntries(Object.keys(loaded).map((what) => [what, (found) => found[what]])));
  const add = (...given) => thrown(() => orders.add(...given));
  check(null, {
    'a number': () => add(1) === true,
    'a text': () => add('5') === true,
    'an empty text': () => add('') === true,
    'no number': () => add('abc') === false,
    'null': () => add(null) === false,
    'undefined': () => add(undefined) === false,
    'nothing': () => add() === false,
    'truth': () => add(true) === true,
    'a list of one': () => add([3]) === true,
    'an object': () => add({}) === false,
    'an object with a value': () => add({ valueOf: () => 4 }) === true,
    'NaN': () => add(NaN) === false,
    'a date': () => add(new Date(5)) === true,
    'tags': () => add(1, { a: 'b', c: 1, d: true }) === true,
    'no tags': () => add(1, null) === true && add(1, undefined) === true && add(1, 5) === true,
    'a tag of null': () => add(1, { a: null }) === tag,
    'a tag of undefined': () => add(1, { a: undefined }) === tag,
    'a tag of an object': () => add(1, { a: {} }) === tag,
    'too late': () => thrown(() => new Gauge('late')) === 'GoError: metrics must be declared in the init context',
    'by itself': () => { const { add: alone } = orders; return alone(1) === true; },
    'its name stays': () => thrown(() => { orders.name = 'x'; }).startsWith('TypeError: ') && orders.name === 'orders',
    'a rate': () => thrown(() => new Rate('late')).includes('init context'),
  });
}

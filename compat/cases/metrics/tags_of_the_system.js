// row: k6/metrics.Counter, thresholds.filters
import { Counter } from 'k6/metrics';
import { check, group } from 'k6';
import exec from 'k6/execution';
const c = new Counter('own');
const tags = {};
for (const name of ['scenario', 'group', 'method', 'check', 'name']) tags[name] = 'of-run';
const names = (tag) => ['of-run', 'of-scenario', 'of-sample', 'of-vu', 'real', '::G', '::G::H', ''].map((value) => `own{${tag}:${value}}`);
const thresholds = {};
for (const name of [...names('scenario'), ...names('group'), ...names('method')]) thresholds[name] = ['count>=0'];
thresholds['checks{scenario:real}'] = thresholds['checks{scenario:of-run}'] = thresholds['checks{check:C}'] = ['rate>=0'];
export const options = {
  tags, thresholds,
  scenarios: { real: { executor: 'per-vu-iterations', iterations: 1, tags: { scenario: 'of-scenario', group: 'of-scenario', method: 'of-scenario' } } },
};
export default function () {
  console.log(JSON.stringify(exec.vu.metrics.tags));
  c.add(1);
  group('G', () => {
    c.add(10);
    c.add(100, { scenario: 'of-sample', group: 'of-sample', method: 'of-sample' });
    check(1, { C: () => true });
    exec.vu.metrics.tags.scenario = 'of-vu'; exec.vu.metrics.tags.group = 'of-vu';
    c.add(1000);
    console.log(exec.vu.metrics.tags.group);
    group('H', () => c.add(10000));
    c.add(100000);
  });
  c.add(1000000);
  exec.vu.metrics.tags.group = 'of-vu';
  c.add(10000000);
  console.log(JSON.stringify(exec.vu.metrics.tags));
}

// row: exec.scenario, exec.instance, exec.vu, exec.test.options
import exec from 'k6/execution';
const parts = {
  scenario: () => exec.scenario.name, iteration: () => exec.scenario.iterationInTest, progress: () => exec.scenario.progress, instance: () => typeof exec.instance.vusActive,
  vu: () => exec.vu.idInTest, tags: () => JSON.stringify(exec.vu.metrics.tags), metadata: () => JSON.stringify(exec.vu.metrics.metadata), options: () => typeof exec.test.options, test: () => typeof exec.test,
};
function told(names) {
  return names.map((name) => { try { return `${name}=${parts[name]()}`; } catch (e) { return `${name} throws ${e}`; } });
}
const inInit = told(Object.keys(parts));
export function setup() { for (const line of told(Object.keys(parts))) console.log('setup', line); }
export default function () {
  for (const line of inInit) console.log('init', line);
  console.log(told(['scenario', 'iteration', 'progress', 'instance', 'vu', 'metadata', 'options', 'test']).join());
}
export function teardown() { for (const line of told(['scenario', 'vu', 'tags', 'metadata', 'options'])) console.log('teardown', line); }
export function handleSummary() { for (const line of told(['scenario', 'vu', 'tags', 'options'])) console.log('summary', line); return {}; }

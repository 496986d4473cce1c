// passed: 14
import { check } from 'k6';
import http from 'k6/http';

const url = `${__ENV.BASE}/json`;
const fields = ['remote_ip', 'remote_port', 'url', 'status', 'status_text', 'proto', 'headers', 'cookies', 'body',
  'timings', 'tls_version', 'tls_cipher_suite', 'ocsp', 'error', 'error_code', 'request'];
const methods = ['clickLink', 'html', 'json', 'submitForm'];
const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return error.name;
  }
};

export default function () {
  const response = http.get(url);
  const copy = { ...response };
  const listed = [];
  for (const name in response) listed.push(name);
  const { status, body, ...rest } = response;
  const changed = http.get(url);
  changed.body = '{"mine":1}';
  changed.status = 418;
  const failed = http.get('http://127.0.0.1:1/');
  check(response, {
    'fields are listed in their order': (r) => Object.keys(r).join() === fields.concat(methods).join(),
    'a loop lists them too': () => listed.join() === fields.concat(methods).join(),
    'reading them does not change the order': (r) => r.body !== null && r.headers !== null && Object.keys(r).join() === fields.concat(methods).join(),
    'a copy has them': () => copy.status === 200 && copy.body === response.body && copy.timings.duration === response.timings.duration && copy.url === url,
    'they can be taken apart': () => status === 200 && body === response.body && rest.url === url && rest.status === undefined,
    'entries have their values': (r) => Object.fromEntries(Object.entries(r)).status === 200,
    'they are own properties': (r) => 'status' in r && r.hasOwnProperty('json') && !('nothing' in r) && r.nothing === undefined,
    'JSON has the fields and no methods': (r) => Object.keys(JSON.parse(JSON.stringify(r))).join() === fields.join(),
    'what an object is read twice is equal': (r) => r.headers['Content-Type'] === r.headers['Content-Type'] && r.json().ok === r.json().ok,
    'fields can be set': () => changed.status === 418 && changed.body === '{"mine":1}',
    'json reads the body that was set': () => changed.json().mine === 1 && changed.json('mine') === 1,
    'a copy has what was set': () => ({ ...changed }).status === 418,
    'other properties cannot be set': (r) => thrown(() => { r.mine = 1; }) === 'TypeError' && thrown(() => { r.json = 1; }) === 'TypeError',
    'a request that failed has the same fields': () => Object.keys(failed).join() === fields.concat(methods).join() && failed.status === 0,
  });
}

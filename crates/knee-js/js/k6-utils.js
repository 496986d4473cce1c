// knee's own answer to https://jslib.k6.io/k6-utils: random values, findBetween, stages, check with promises.
//
// Written from the documented interface; it contains nothing of the original.

import { check as checkNow } from 'k6';
import exec from 'k6/execution';

// ---- random values -------------------------------------------------------------------------------------------

function randomByte(secure) {
  const source = globalThis.crypto;
  if (secure && source && source.getRandomValues) return source.getRandomValues(new Uint8Array(1))[0];
  return Math.floor(Math.random() * 256);
}

export function uuidv4(secure = false) {
  const bytes = Array.from({ length: 16 }, () => randomByte(secure));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [0, 8, 12, 16, 20].map((from, at, all) => digits.slice(from, all[at + 1])).join('-');
}

export function randomIntBetween(min, max) {
  return Math.floor(Number(min) + Math.random() * (max - min + 1));
}

export function randomItem(items) {
  return items[Math.floor(Math.random() * items.length)];
}

export function randomString(length, charset = 'abcdefghijklmnopqrstuvwxyz') {
  let text = '';
  while (text.length < length) text += charset[Math.floor(Math.random() * charset.length)];
  return text;
}

// ---- texts ---------------------------------------------------------------------------------------------------

export function findBetween(content, left, right, repeat = false) {
  const found = [];
  let at = 0;
  for (;;) {
    const begin = content.indexOf(left, at);
    const end = begin < 0 ? -1 : content.indexOf(right, begin + left.length);
    if (end < 0) break;
    found.push(content.slice(begin + left.length, end));
    if (!repeat) return found[0];
    at = end + right.length;
  }
  return found.length > 0 ? found : null;
}

const UNITS = { d: 86400000, h: 3600000, m: 60000, s: 1000, ms: 1 };

// Milliseconds of a duration such as `1h2m3.5s`.
export function parseDuration(text) {
  if (text === undefined || text === null || text.length < 1) throw new Error('str is empty');
  let total = 0;
  for (const [, number, unit] of String(text).matchAll(/([\d.]+)?([^\d.\-+\s]*)/g)) {
    if (number === undefined && unit === '') continue;
    if (unit !== '' && !(unit in UNITS)) throw new Error(`${unit} is an unsupported time unit`);
    total += Number(number === undefined ? 0 : number) * (unit === '' ? 1 : UNITS[unit]);
  }
  return total;
}

// ---- stages --------------------------------------------------------------------------------------------------

// Stages that follow a bell curve: up from a seventh of `maxVus` within a sixth of the time, along the curve, and
// down to no user within another sixth.
export function normalDistributionStages(maxVus, durationSeconds, numberOfStages = 10) {
  const density = (x) => Math.exp((-x * x) / 2);
  const points = Array.from({ length: numberOfStages + 1 }, (_, at) => density(-2 + (4 * at) / numberOfStages));
  const peak = Math.max(...points);
  const edge = `${Math.ceil(durationSeconds / 6)}s`;
  const step = `${Math.ceil((durationSeconds * 4) / (6 * numberOfStages))}s`;
  const stages = points.map((point, at) => ({
    duration: at === 0 ? edge : step,
    target: Math.round((maxVus * point) / peak),
  }));
  return [...stages, { duration: edge, target: 0 }];
}

function currentStages() {
  const { name, executor } = exec.scenario;
  const scenario = (exec.test.options.scenarios || {})[name];
  const stages = scenario && scenario.stages;
  if (!stages) throw new Error(`a scenario with the executor ${executor} has no stages, and no current stage`);
  return stages;
}

export function getCurrentStageIndex() {
  const stages = currentStages();
  let left = Date.now() - exec.scenario.startTime;
  const index = stages.findIndex((stage) => {
    left -= parseDuration(stage.duration);
    return left < 0;
  });
  return index < 0 ? stages.length - 1 : index;
}

export function tagWithCurrentStageIndex() {
  exec.vu.metrics.tags.stage = String(getCurrentStageIndex());
}

export function tagWithCurrentStageProfile() {
  const stages = currentStages();
  const index = getCurrentStageIndex();
  const before = index === 0 ? 0 : stages[index - 1].target;
  const now = stages[index].target;
  let profile = 'steady';
  if (now > before) profile = 'ramp-up';
  if (now < before) profile = 'ramp-down';
  exec.vu.metrics.tags.stage_profile = profile;
}

// ---- checks --------------------------------------------------------------------------------------------------

const isPromise = (value) => value !== null && typeof value === 'object' && typeof value.then === 'function';

// As check() of k6; when the value or a condition is a promise, so is the answer.
export function check(value, sets, tags) {
  if (isPromise(value)) return value.then((settled) => check(settled, sets, tags));
  const one = (name, outcome) => checkNow(value, { [name]: () => outcome }, tags || {});
  let held = true;
  const later = [];
  for (const [name, condition] of Object.entries(sets)) {
    const outcome = typeof condition === 'function' ? condition(value) : condition;
    if (isPromise(outcome)) later.push(outcome.then((settled) => one(name, settled)));
    else held = one(name, outcome) && held;
  }
  if (later.length === 0) return held;
  return Promise.all(later).then((outcomes) => outcomes.every(Boolean) && held);
}

// knee's own answer to https://jslib.k6.io/k6-utils: random values, findBetween, stages, check with promises.
//
// Written from the documented interface and from what the original was seen to do; it contains nothing of it. A
// negative length of a random text, with which the original never ends, gives an empty text.

import { check as checkNow } from 'k6';
import crypto from 'k6/crypto';
import exec from 'k6/execution';

// ---- random values -------------------------------------------------------------------------------------------

const randomBytes = (secure) =>
  secure ? new Uint8Array(crypto.randomBytes(16)) : Uint8Array.from({ length: 16 }, () => Math.random() * 256);

export function uuidv4(secure = false) {
  const bytes = randomBytes(secure);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [0, 8, 12, 16, 20].map((from, at, all) => digits.slice(from, all[at + 1])).join('-');
}

export function randomIntBetween(min, max) {
  return Math.floor(Math.random() * (max - min + 1) + min);
}

export function randomItem(items) {
  return items[Math.floor(Math.random() * items.length)];
}

export function randomString(length, charset = 'abcdefghijklmnopqrstuvwxyz') {
  let text = '';
  for (let left = Number(length); left > 0; left -= 1) text += charset[Math.floor(Math.random() * charset.length)];
  return text;
}

// ---- texts ---------------------------------------------------------------------------------------------------

export function findBetween(content, left, right, repeat = false) {
  const found = [];
  let rest = content;
  for (;;) {
    const begin = rest.indexOf(left);
    const end = begin === -1 ? -1 : rest.indexOf(right, begin + left.length);
    if (end === -1) return found.length > 0 ? found : null;
    const text = rest.substring(begin + left.length, end);
    if (!repeat) return text;
    found.push(text);
    rest = rest.substring(end + right.length);
  }
}

// Factors from a unit to milliseconds.
const UNITS = { d: [24, 60, 60, 1000], h: [60, 60, 1000], m: [60, 1000], s: [1000], ms: [] };
const isOfNumber = (letter) => (letter >= '0' && letter <= '9') || letter === '.';

// Milliseconds of a duration such as `1h2m3.5s`; a number without a unit is in milliseconds. Marks that are neither a
// unit nor part of a number do not count when a number follows.
export function parseDuration(text) {
  if (text === undefined || text === null || text.length < 1) throw new Error('str is empty');
  const seen = new Set();
  let total = 0;
  let number = '';
  for (let at = 0; at < text.length; at += 1) {
    if (isOfNumber(text[at])) number += text[at];
    const next = text[at + 1];
    if (next === undefined || isOfNumber(next)) continue;
    const unit = next === 'm' && text[at + 2] === 's' ? 'ms' : next;
    if (!Object.hasOwn(UNITS, unit)) throw new Error(`${unit} is an unsupported time unit`);
    if (seen.has(unit)) throw new Error(`${unit} time unit is provided multiple times`);
    seen.add(unit);
    const amount = UNITS[unit].reduce((product, factor) => product * factor, parseFloat(number));
    total += unit === 'ms' ? Math.trunc(amount) : amount;
    number = '';
    at += unit.length;
  }
  return number === '' ? total : total + parseFloat(number);
}

// ---- stages --------------------------------------------------------------------------------------------------

// Stages that follow a bell curve: up from a seventh of `maxVus` within a sixth of the time, along the curve, and
// down to no user within another sixth.
export function normalDistributionStages(maxVus, durationSeconds, numberOfStages = 10) {
  const density = (x) => Math.exp(-0.5 * x ** 2) / Math.sqrt(2 * Math.PI);
  const points = Array.from({ length: numberOfStages + 1 }, (_, at) => density((4 * at) / numberOfStages - 2));
  points.push(0);
  const peak = Math.max(...points);
  const edge = Math.ceil(durationSeconds / 6);
  const step = Math.ceil((4 * durationSeconds) / (6 * numberOfStages));
  return points.map((point, at) => ({
    duration: `${at === 0 || at === numberOfStages + 1 ? edge : step}s`,
    target: Math.round((point * maxVus) / peak),
  }));
}

function currentStages() {
  const { name } = exec.scenario;
  const scenario = exec.test.options.scenarios[name];
  if (scenario === undefined || scenario === null) {
    throw new Error(`the exec.test.options object doesn't contain the current scenario ${name}`);
  }
  const { stages } = scenario;
  if (stages === undefined || stages === null) {
    const which = 'only ramping-vus or ramping-arravial-rate supports stages';
    throw new Error(`${which}, it is not possible to get a stage index on other executors.`);
  }
  if (stages.length < 1) throw new Error(`the current scenario ${scenario.name} doesn't contain any stage`);
  return stages;
}

export function getCurrentStageIndex() {
  const stages = currentStages();
  const elapsed = Date.now() - exec.scenario.startTime;
  let end = 0;
  const index = stages.findIndex((stage) => {
    end += parseDuration(stage.duration);
    return elapsed < end;
  });
  return index < 0 ? stages.length - 1 : index;
}

export function tagWithCurrentStageIndex() {
  exec.vu.metrics.tags.stage = String(getCurrentStageIndex());
}

// The first stage counts as a ramp up, whatever its target.
export function tagWithCurrentStageProfile() {
  const stages = currentStages();
  const index = getCurrentStageIndex();
  const change = index < 1 ? 1 : stages[index].target - stages[index - 1].target;
  let profile = 'steady';
  if (change > 0) profile = 'ramp-up';
  if (change < 0) profile = 'ramp-down';
  exec.vu.metrics.tags.stage_profile = profile;
}

// ---- checks --------------------------------------------------------------------------------------------------

// As check() of k6; when the value or a condition is a promise, so is the answer.
export function check(value, sets, tags) {
  if (value instanceof Promise) return value.then((settled) => check(settled, sets, tags));
  const outcomes = Object.entries(sets).map(([name, condition]) => {
    const add = (outcome) => {
      checkNow(value, { [name]: () => Boolean(outcome) }, tags || {});
      return outcome;
    };
    const outcome = typeof condition === 'function' ? condition(value) : condition;
    return outcome instanceof Promise ? outcome.then(add) : add(outcome);
  });
  const isLater = outcomes.some((outcome) => outcome instanceof Promise);
  if (isLater) return Promise.all(outcomes).then((settled) => settled.every(Boolean));
  return outcomes.every(Boolean);
}

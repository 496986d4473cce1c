// knee's own k6chaijs: whether two values are alike all the way down.
//
// Pairs that are being compared already count as alike, so that rings end.

import { typeOf } from './type.js';

const isSimple = (value) => value === null || typeof value !== 'object';
const LISTS = /^(Arguments|Array|(Int8|Uint8|Uint8Clamped|Int16|Uint16|Int32|Uint32|Float32|Float64)Array)$/;
const BY_IDENTITY = ['Promise', 'Symbol', 'function', 'WeakMap', 'WeakSet'];

// True or false where no look inside is needed, else undefined.
function atOnce(one, other) {
  if (Object.is(one, other)) return true;
  if (one === other) return false;
  return isSimple(one) || isSimple(other) ? false : undefined;
}

// Whether `one` and `other` are alike. Options: `comparator(one, other)` can decide first, for each pair; `symbols`
// that count as keys (`all`, `none` or `enumerable`); `errorsByIdentity`.
export function alike(one, other, options = {}) {
  const { comparator, known = new Map() } = options || {};
  if (comparator) {
    const decided = comparator(one, other);
    if (typeof decided === 'boolean') return decided;
  }
  const simple = atOnce(one, other);
  if (simple !== undefined) return simple;
  const before = recall(known, one, other) ?? recall(known, other, one);
  if (before !== undefined) return before;
  const type = typeOf(one);
  if (type !== typeOf(other)) return false;
  if (!known.has(one)) known.set(one, new Map());
  known.get(one).set(other, true);
  const found = alikeInside(one, other, type, { ...options, comparator, known });
  known.get(one).set(other, found);
  return found;
}

const recall = (known, one, other) => known.get(one)?.get(other);

function alikeInside(one, other, type, options) {
  if (['String', 'Number', 'Boolean', 'Date'].includes(type)) return alike(one.valueOf(), other.valueOf());
  if (BY_IDENTITY.includes(type)) return one === other;
  if (type === 'Error') {
    const isAlike = (key) => alike(one[key], other[key], options);
    return !options.errorsByIdentity && ['name', 'message', 'code'].every(isAlike);
  }
  if (LISTS.test(type)) return alikeLists(one, other, options);
  if (type === 'RegExp') return one.toString() === other.toString();
  if (type === 'Generator') return alikeLists(drained(one), drained(other), options);
  if (type === 'DataView') return alikeLists(new Uint8Array(one.buffer), new Uint8Array(other.buffer), options);
  if (type === 'ArrayBuffer') return alikeLists(new Uint8Array(one), new Uint8Array(other), options);
  if (type === 'Set' || type === 'Map') return alikeEntries(one, other, options);
  return alikeObjects(one, other, options);
}

function alikeLists(one, other, options) {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at += 1) if (!alike(one[at], other[at], options)) return false;
  return true;
}

// Maps and sets, in the order of their entries as texts.
function alikeEntries(one, other, options) {
  if (one.size !== other.size) return false;
  const sorted = (entries) => {
    const pairs = [];
    entries.forEach((value, key) => pairs.push([value, key]));
    return pairs.sort();
  };
  return alikeLists(sorted(one), sorted(other), options);
}

// All values of an iterator, and what it returns at the end.
function drained(iterator) {
  const values = [];
  let step;
  do {
    step = iterator.next();
    values.push(step.value);
  } while (step.done === false);
  return values;
}

// Enumerable keys, those of the prototypes included, and the symbols that count.
function keysOf(object, { symbols = 'enumerable' }) {
  const keys = [];
  for (const key in object) keys.push(key);
  const counts = { all: () => true, none: () => false, enumerable: (symbol) => isEnumerable(object, symbol) };
  return keys.concat(Object.getOwnPropertySymbols(object).filter(counts[symbols]));
}

const isEnumerable = (object, key) => Object.getOwnPropertyDescriptor(object, key).enumerable;

function itemsOf(object) {
  if (typeof object[Symbol.iterator] !== 'function') return [];
  try {
    return drained(object[Symbol.iterator]());
  } catch (error) {
    return [];
  }
}

function alikeObjects(one, other, options) {
  const [keys, others] = [keysOf(one, options), keysOf(other, options)];
  if (keys.length > 0 && keys.length === others.length) {
    const names = (list) => list.map(String).sort();
    return alikeLists(names(keys), names(others)) && keys.every((key) => alike(one[key], other[key], options));
  }
  const [items, rest] = [itemsOf(one), itemsOf(other)];
  if (items.length > 0 && items.length === rest.length) return alikeLists(items.sort(), rest.sort(), options);
  return [keys, others, items, rest].every((list) => list.length === 0);
}

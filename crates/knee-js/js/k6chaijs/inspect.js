// knee's own k6chaijs: values as texts, in as much room as there is.
//
// A budget `{ room, seen }` goes down with each part that is shown; `room` is in characters and ends below zero when
// a part cannot be shortened. Text is cut with an ellipsis, lists with the number of items left. There are no colours.

import { nameOf, rawType } from './type.js';

const CUT = '\u2026';
const CUSTOM = Symbol.for('chai/inspect');

// The text, cut where the room ends; only the ellipsis when not even that fits.
function cut(given, room) {
  const text = String(given);
  if (text.length <= room || text.length <= CUT.length) return text;
  return CUT.length > room ? CUT : text.slice(0, room - CUT.length) + CUT;
}

// Items side by side. Each is tried together with the next, because the mark for the rest needs room, too.
function listOf(items, budget, show = inspectIn) {
  const whole = budget.room;
  const comma = ', ';
  let text = '';
  let upcoming = '';
  for (let at = 0; at < items.length; at += 1) {
    const left = items.length - at;
    const rest = `${CUT}(${left})`;
    budget.room = whole - text.length - (left === 1 ? 0 : comma.length);
    const item = upcoming || show(items[at], budget) + (left === 1 ? '' : comma);
    const length = text.length + item.length;
    if (left === 1 && length > whole && text.length + rest.length <= whole) return text + rest;
    if (left > 2 && length + rest.length > whole) return text + rest;
    upcoming = left === 1 ? '' : show(items[at + 1], budget) + (left === 2 ? '' : comma);
    if (left === 2 && length + rest.length > whole && length + upcoming.length > whole) return text + rest;
    text += item;
    if (left > 2 && length + upcoming.length >= whole) return `${text}${CUT}(${left - 1})`;
  }
  return text;
}

function keyOf(key) {
  if (/^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key)) return key;
  const plain = JSON.stringify(key).slice(1, -1);
  return `'${plain.replace(/'/g, "\\'").replace(/\\"/g, '"')}'`;
}

// `key: value`.
function pair([key, value], budget) {
  budget.room -= 2;
  let shown = key;
  if (typeof key === 'string') shown = keyOf(key);
  else if (typeof key !== 'number') shown = `[${inspectIn(key, budget)}]`;
  budget.room -= shown.length;
  return `${shown}: ${inspectIn(value, budget)}`;
}

// `key => value`.
function entry([key, value], budget) {
  budget.room -= 4;
  const shown = inspectIn(key, budget);
  budget.room -= shown.length;
  return `${shown} => ${inspectIn(value, budget)}`;
}

const pairsOf = (value, keys) => keys.map((key) => [key, value[key]]);
const extraKeys = (list) => Object.keys(list).slice(list.length);

function ofArray(list, budget) {
  const extra = extraKeys(list);
  if (list.length === 0 && extra.length === 0) return '[]';
  budget.room -= 4;
  const items = listOf(Array.from(list), budget);
  budget.room -= items.length;
  const more = extra.length > 0 ? listOf(pairsOf(list, extra), budget, pair) : '';
  return `[ ${items}${more === '' ? '' : `, ${more}`} ]`;
}

function ofTypedArray(list, budget) {
  const name = list[Symbol.toStringTag] || nameOf(list.constructor);
  budget.room -= name.length + 4;
  const extra = extraKeys(list);
  if (list.length === 0 && extra.length === 0) return `${name}[]`;
  let items = '';
  for (let at = 0; at < list.length; at += 1) {
    const item = cut(list[at], budget.room) + (at === list.length - 1 ? '' : ', ');
    budget.room -= item.length;
    // The count of the rest comes from the value, as in the original.
    if (list[at] !== list.length && budget.room <= 3) {
      items += `${CUT}(${list.length - Number(list[at]) + 1})`;
      break;
    }
    items += item;
  }
  const more = extra.length > 0 ? listOf(pairsOf(list, extra), budget, pair) : '';
  return `${name}[ ${items}${more === '' ? '' : `, ${more}`} ]`;
}

function ofDate(date, budget) {
  const text = date.toJSON();
  if (text === null) return 'Invalid Date';
  const [day, time] = text.split('T');
  return `${day}T${cut(time, budget.room - day.length - 1)}`;
}

const ofFunction = (call, budget) => (call.name ? `[Function ${cut(call.name, budget.room - 11)}]` : '[Function]');

// A map with one entry is shown as an empty one, as in the original.
function ofMap(map, budget) {
  if (map.size <= 1) return 'Map{}';
  budget.room -= 7;
  return `Map{ ${listOf([...map], budget, entry)} }`;
}

function ofSet(set, budget) {
  if (set.size === 0) return 'Set{}';
  budget.room -= 7;
  return `Set{ ${listOf([...set], budget)} }`;
}

function ofArguments(list, budget) {
  if (list.length === 0) return 'Arguments[]';
  budget.room -= 13;
  return `Arguments[ ${listOf(Array.from(list), budget)} ]`;
}

function ofNumber(number, budget) {
  if (number === 0) return 1 / number === Infinity ? '+0' : '-0';
  return Number.isFinite(number) ? cut(number, budget.room) : String(number);
}

function ofBigInt(number, budget) {
  const text = cut(number, budget.room - 1);
  return text === CUT ? text : `${text}n`;
}

function ofRegExp(pattern, budget) {
  const flags = pattern.toString().split('/')[2];
  return `/${cut(pattern.source, budget.room - (2 + flags.length))}/${flags}`;
}

// Marks, control characters and letters without a shape of their own.
const ESCAPED =
  /['\u0000-\u001f\u007f-\u009f\u00ad\u0600-\u0604\u070f\u17b4\u17b5\u200c-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff]/g;
const SHORT = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', "'": "\\'" };
const escaped = (letter) => SHORT[letter] || `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
const ofString = (text, budget) => `'${cut(String(text).replace(ESCAPED, escaped), budget.room - 2)}'`;

const ofSymbol = (symbol) => `Symbol(${symbol.description || ''})`;

const NOT_OF_ERRORS = 'stack line column name message fileName lineNumber columnNumber number description'.split(' ');

function ofError(error, budget) {
  const keys = Object.getOwnPropertyNames(error).filter((key) => !NOT_OF_ERRORS.includes(key));
  const { name } = error;
  budget.room -= name.length;
  let message = '';
  if (typeof error.message === 'string') message = cut(error.message, budget.room);
  else keys.unshift('message');
  message = message === '' ? '' : `: ${message}`;
  budget.room -= message.length + 5;
  const more = listOf(pairsOf(error, keys), budget, pair);
  return `${name}${message}${more === '' ? '' : ` { ${more} }`}`;
}

function ofObject(object, budget) {
  const names = Object.getOwnPropertyNames(object);
  const symbols = Object.getOwnPropertySymbols(object);
  if (names.length === 0 && symbols.length === 0) return '{}';
  budget.room -= 4;
  if (budget.seen.includes(object)) return '[Circular]';
  budget.seen.push(object);
  const named = listOf(pairsOf(object, names), budget, pair);
  const others = listOf(pairsOf(object, symbols), budget, pair);
  budget.seen.pop();
  return `{ ${named}${named !== '' && others !== '' ? ', ' : ''}${others} }`;
}

function ofClass(object, budget) {
  const tag = Symbol.toStringTag in object ? object[Symbol.toStringTag] : '';
  const given = tag || nameOf(object.constructor);
  const name = !given || given === '_class' ? '<Anonymous Class>' : given;
  budget.room -= name.length;
  return name + ofObject(object, budget);
}

const always = (text) => () => text;
const SHOWN = {
  undefined: always('undefined'), null: always('null'), boolean: String, Boolean: String,
  number: ofNumber, Number: ofNumber, bigint: ofBigInt, BigInt: ofBigInt, string: ofString, String: ofString,
  function: ofFunction, Function: ofFunction, symbol: ofSymbol, Symbol: ofSymbol, Array: ofArray, Date: ofDate,
  Map: ofMap, Set: ofSet, RegExp: ofRegExp, Promise: always(`Promise{${CUT}}`), WeakSet: always(`WeakSet{${CUT}}`),
  WeakMap: always(`WeakMap{${CUT}}`), Arguments: ofArguments, Error: ofError,
  Generator: always(''), DataView: always(''), ArrayBuffer: always(''),
};
for (const name of ['Int8', 'Uint8', 'Uint8Clamped', 'Int16', 'Uint16', 'Int32', 'Uint32', 'Float32', 'Float64']) {
  SHOWN[`${name}Array`] = ofTypedArray;
}

// What an object says of itself, if it does.
function ownText(value, budget) {
  if (CUSTOM in value && typeof value[CUSTOM] === 'function') return value[CUSTOM](budget);
  return 'inspect' in value && typeof value.inspect === 'function' ? value.inspect(budget.depth, budget) : '';
}

function inspectIn(value, outer) {
  const budget = { room: outer.room, depth: outer.depth, seen: outer.seen };
  let type = value === null ? 'null' : typeof value;
  if (type === 'object') type = rawType(value);
  if (Object.hasOwn(SHOWN, type)) return SHOWN[type](value, budget);
  const own = ownText(value, budget);
  if (own) return typeof own === 'string' ? own : inspectIn(own, budget);
  const prototype = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null || !('constructor' in value);
  return isPlain || value.constructor === Object ? ofObject(value, budget) : ofClass(value, budget);
}

// A value as text, in about `room` characters; whole when that is 0.
export const inspect = (value, room) => inspectIn(value, { room: room || Infinity, depth: 2, seen: [] });

// A value as text in a message: objects that need more room than there is are named by their kind. `show` is one of
// the functions that inspect.
export function display(value, room, show) {
  const text = show(value, room);
  if (!room || text.length < room) return text;
  const type = rawType(value);
  if (type === 'Function') return value.name ? `[Function: ${value.name}]` : '[Function]';
  if (type === 'Array') return `[ Array(${value.length}) ]`;
  if (type !== 'Object') return text;
  const keys = Object.keys(value);
  return `{ Object (${keys.slice(0, 2).join(', ')}${keys.length > 2 ? ', ...' : ''}) }`;
}

// knee's own k6chaijs: values as texts as releases 4.3.4.0 and 4.3.4.1 show them: whole, over several lines when long.
//
// Only typed arrays are cut. Objects more than two levels down are not shown.

import { nameOf, rawType } from './type.js';

const DEPTH = 2;
const WIDEST = 60;

const textOf = (text) => `'${JSON.stringify(text).slice(1, -1).replace(/'/g, "\\'").replace(/\\"/g, '"')}'`;
const keyOf = (key) => (/^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key) ? key : textOf(key));

function primitive(value) {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return textOf(value);
    case 'number':
      return Object.is(value, -0) ? '-0' : `${value}`;
    case 'bigint':
      return `${value}n`;
    default:
      return String(value);
  }
}

function keysOf(object) {
  const keys = [];
  for (const key in object) keys.push(key);
  return keys;
}

const named = (call) => `[Function${nameOf(call) ? `: ${nameOf(call)}` : ''}]`;

// What stands for a value that is no plain object: functions, patterns, dates and errors.
function special(value) {
  if (typeof value === 'function') return named(value);
  const type = rawType(value);
  if (type === 'RegExp') return RegExp.prototype.toString.call(value);
  if (type === 'Date') return Date.prototype.toUTCString.call(value);
  return type === 'Error' ? `[${Error.prototype.toString.call(value)}]` : undefined;
}

// The items of a typed array, as long as there is room.
function typedItems(list, room) {
  let text = '[ ';
  for (let at = 0; at < list.length; at += 1) {
    if (text.length >= room - 7) {
      text += '...';
      break;
    }
    text += `${list[at]}, `;
  }
  return `${text} ]`.replace(',  ]', ' ]');
}

const shifted = (text, by) => text.split('\n').map((line) => by + line).join('\n');

// `key: value`, or only the value of an item of a list.
function propertyOf(object, key, isItem, level, settings) {
  const { get, set } = Object.getOwnPropertyDescriptor(object, key) || {};
  let text;
  if (get || set) {
    text = `[${[get ? 'Getter' : '', set ? 'Setter' : ''].filter(Boolean).join('/')}]`;
  } else if (settings.seen.includes(object[key])) {
    text = '[Circular]';
  } else {
    text = inspectIn(object[key], level - 1, settings);
    if (text.includes('\n')) text = isItem ? shifted(text, '  ').slice(2) : `\n${shifted(text, '   ')}`;
  }
  return isItem && /^\d+$/.test(key) ? text : `${keyOf(key)}: ${text}`;
}

function itemsOf(list, keys, level, settings) {
  const show = (key) => propertyOf(list, key, true, level, settings);
  const items = Array.from({ length: list.length }, (_, at) => (Object.hasOwn(list, at) ? show(String(at)) : ''));
  return items.concat(keys.filter((key) => !/^\d+$/.test(key)).map(show));
}

function inspectIn(value, level, settings) {
  const isOwn = value && typeof value.inspect === 'function';
  if (isOwn && (!value.constructor || value.constructor.prototype !== value)) {
    const text = value.inspect(level, settings);
    return typeof text === 'string' ? text : inspectIn(text, level, settings);
  }
  if (value === null || !['object', 'function'].includes(typeof value)) return primitive(value);
  const keys = keysOf(value);
  const lead = special(value);
  const type = rawType(value);
  if (lead !== undefined && (keys.length === 0 || type === 'Error')) return lead;
  const isArray = Array.isArray(value) || type === 'Array';
  const [open, close] = isArray || /\w+Array$/.test(type) ? ['[', ']'] : ['{', '}'];
  const head = lead === undefined ? '' : ` ${lead}`;
  if (keys.length === 0 && !(isArray && value.length > 0)) return `${open}${head}${close}`;
  if (level < 0) return type === 'RegExp' ? lead : '[Object]';
  settings.seen.push(value);
  if (!isArray && open === '[') return typedItems(value, settings.room);
  const parts = isArray
    ? itemsOf(value, keys, level, settings)
    : keys.map((key) => propertyOf(value, key, false, level, settings));
  settings.seen.pop();
  const width = parts.reduce((sum, part) => sum + part.length + 1, 0);
  if (width <= WIDEST) return `${open}${head} ${parts.join(', ')} ${close}`;
  return `${open}${head === '' ? '' : `${head}\n `} ${parts.join(',\n  ')} ${close}`;
}

// A value as text. Only typed arrays keep to `room`, in characters.
export const inspectLines = (value, room) => inspectIn(value, DEPTH, { room, seen: [], stylize: String });

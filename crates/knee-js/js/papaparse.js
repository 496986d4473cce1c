// knee's own answer to https://jslib.k6.io/papaparse: CSV to rows and rows to CSV, from texts.
//
// Written from the documented interface and RFC 4180; it contains nothing of the original. Streams, workers and
// downloads are not here: a script reads files with open().

export const RECORD_SEP = '\x1e';
export const UNIT_SEP = '\x1f';
export const BYTE_ORDER_MARK = '\ufeff';
export const BAD_DELIMITERS = ['\r', '\n', '"', BYTE_ORDER_MARK];
export const WORKERS_SUPPORTED = false;
export const DefaultDelimiter = ',';

const GUESSES = [',', '\t', '|', ';', RECORD_SEP, UNIT_SEP];
const GUESSED_ROWS = 10;

// ---- reading -------------------------------------------------------------------------------------------------

// The line break that a text uses outside of quotes.
function guessNewline(text, quote) {
  const start = text.slice(0, 1024 * 1024);
  const mark = quote.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const plain = start.replace(new RegExp(`${mark}[^]*?${mark}`, 'gm'), '');
  const parts = plain.split('\r');
  // The first line of the whole text is compared with the first part outside of quotes, as in the original.
  const feed = start.indexOf('\n');
  if (parts.length === 1 || (feed >= 0 && feed < parts[0].length)) return '\n';
  const pairs = parts.filter((part) => part[0] === '\n').length;
  return pairs >= parts.length / 2 ? '\r\n' : '\r';
}

// Reads rows of texts. `at` is where reading goes on.
class Reader {
  constructor(text, { delimiter, newline, quote, escape, comments }) {
    Object.assign(this, { text, delimiter, newline, quote, escape, comments, at: 0, errors: [] });
  }

  get isDone() {
    return this.at > this.text.length;
  }

  // The next row; null for a comment.
  row(number) {
    if (this.comments && this.text.startsWith(this.comments, this.at)) {
      const end = this.text.indexOf(this.newline, this.at);
      this.at = end < 0 ? this.text.length + 1 : end + this.newline.length;
      return null;
    }
    const fields = [];
    for (;;) {
      const quoted = this.quote !== '' && this.text.startsWith(this.quote, this.at);
      fields.push(quoted ? this.#quoted(number) : this.#plain());
      if (this.text.startsWith(this.delimiter, this.at)) {
        this.at += this.delimiter.length;
      } else {
        const isLast = !this.text.startsWith(this.newline, this.at);
        this.at = isLast ? this.text.length + 1 : this.at + this.newline.length;
        return fields;
      }
    }
  }

  #plain() {
    const ends = [this.text.indexOf(this.delimiter, this.at), this.text.indexOf(this.newline, this.at)];
    const end = Math.min(...ends.map((found) => (found < 0 ? this.text.length : found)));
    const field = this.text.slice(this.at, end);
    this.at = end;
    return field;
  }

  // A quoted field. Where it is malformed, the quote is part of it, and the letter behind the quote, too.
  #quoted(row) {
    const { text, quote, escape } = this;
    const begin = this.at + quote.length;
    const complain = (code, message) => this.errors.push({ type: 'Quotes', code, message, row, index: begin });
    for (let at = text.indexOf(quote, begin); at >= 0; at = text.indexOf(quote, at + 1)) {
      const isPair = quote === escape && text[at + 1] === escape;
      const isEscaped = isPair || (quote !== escape && at > 0 && text[at - 1] === escape);
      const end = isEscaped && at < text.length - 1 ? undefined : this.#fieldEnd(at + 1);
      if (end !== undefined) {
        this.at = end;
        return text.slice(begin, at).split(escape + quote).join(quote);
      }
      if (isPair) at += 1;
      if (isEscaped) continue;
      complain('InvalidQuotes', 'Trailing quote on quoted field is malformed');
      at += 1;
    }
    complain('MissingQuotes', 'Quoted field unterminated');
    this.at = text.length;
    return text.slice(begin);
  }

  // Where the field behind a quote ends: there, or after blanks before a delimiter or a line break.
  #fieldEnd(at) {
    const { text, delimiter, newline } = this;
    if (at >= text.length) return at;
    const [next, line] = [text.indexOf(delimiter, at), text.indexOf(newline, at)];
    const blanks = (end) => (end > at && text.slice(at, end).trim() === '' ? end : at);
    const before = blanks(line < 0 ? next : Math.min(next, line));
    if (text[before] === delimiter) return before;
    return text.startsWith(newline, blanks(line)) ? blanks(line) : undefined;
  }
}

function isSkipped(row, { skipEmpty }) {
  if (skipEmpty === 'greedy') return row.join('').trim() === '';
  return Boolean(skipEmpty) && row.length === 1 && row[0].length === 0;
}

// Rows of a text without quotes. `most` counts comments, too.
function readLines(text, { delimiter, newline, comments }, most) {
  const rows = [];
  const ends = [];
  let at = 0;
  const lines = text.split(newline);
  for (const [number, line] of lines.entries()) {
    at += line.length + (number === lines.length - 1 ? 0 : newline.length);
    if (comments === null || !line.startsWith(comments)) {
      rows.push(line.split(delimiter));
      ends.push(at);
    }
    if (most <= number) {
      return { rows: rows.slice(0, most), ends, errors: [], truncated: true, cursor: ends[ends.length - 1] || 0 };
    }
  }
  return { rows, ends, errors: [], truncated: false, cursor: ends[ends.length - 1] || 0 };
}

// Up to `most` rows of a text, without its comments.
function readRows(text, form, most) {
  if (form.isFast || (form.isFast !== false && (form.quote === '' || !text.includes(form.quote)))) {
    return readLines(text, form, most);
  }
  const reader = new Reader(text, form);
  const rows = [];
  const ends = [];
  while (!reader.isDone && rows.length < most) {
    const row = reader.row(rows.length);
    if (row !== null) {
      rows.push(row);
      ends.push(Math.min(reader.at, text.length));
    }
  }
  const cursor = ends[ends.length - 1] || 0;
  return { rows, ends, errors: reader.errors, truncated: !reader.isDone, cursor };
}

// The delimiter by which the first rows have the most even and the highest number of fields.
function guessDelimiter(text, form, guesses) {
  let best = null;
  for (const delimiter of guesses) {
    const plain = { ...form, delimiter, quote: '"', escape: '"', isFast: undefined };
    const { rows } = readRows(text, plain, GUESSED_ROWS);
    const counts = rows.filter((row) => !isSkipped(row, form)).map((row) => row.length);
    const uneven = counts.slice(1).reduce((sum, count, at) => sum + Math.abs(count - counts[at]), 0);
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    if (mean > 1.99 && (best === null || (uneven <= best.uneven && mean > best.mean))) {
      best = { delimiter, uneven, mean };
    }
  }
  return best === null ? null : best.delimiter;
}

// ---- types and headers ---------------------------------------------------------------------------------------

const NUMBER = /^\s*-?(\d+\.?|\.\d+|\d+\.\d+)([eE][-+]?\d+)?\s*$/;
const MOMENT = /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?([+-][0-2]\d:[0-5]\d|Z)$/;

function typed(text) {
  if (text === 'true' || text === 'TRUE') return true;
  if (text === 'false' || text === 'FALSE') return false;
  if (text === '') return null;
  if (NUMBER.test(text) && Math.abs(parseFloat(text)) < 2 ** 53) return parseFloat(text);
  return MOMENT.test(text) ? new Date(text) : text;
}

function wantsType(wanted, field) {
  if (typeof wanted === 'function') return wanted(field);
  if (wanted !== null && typeof wanted === 'object') return wanted[field] || wanted.__default__ || false;
  return Boolean(wanted);
}

function valueOf(text, field, config) {
  const changed = typeof config.transform === 'function' ? config.transform(text, field) : text;
  return typeof changed === 'string' && wantsType(config.dynamicTyping, field) ? typed(changed) : changed;
}

function objectOf(row, fields, config) {
  const object = {};
  row.forEach((text, at) => {
    if (at < fields.length) object[fields[at]] = valueOf(text, fields[at], config);
    else (object.__parsed_extra = object.__parsed_extra || []).push(valueOf(text, '__parsed_extra', config));
  });
  return object;
}

function mismatch(row, fields, number) {
  if (row.length === fields.length) return [];
  const [code, word] = row.length < fields.length ? ['TooFewFields', 'few'] : ['TooManyFields', 'many'];
  const message = `Too ${word} fields: expected ${fields.length} fields but parsed ${row.length}`;
  return [{ type: 'FieldMismatch', code, message, row: number }];
}

const newlineOf = (asked) => (['\n', '\r', '\r\n'].includes(asked) ? asked : '\n');

function formOf(text, config) {
  const quote = config.quoteChar === undefined ? '"' : config.quoteChar || '';
  const comments = config.comments === true ? '#' : config.comments;
  return {
    quote,
    escape: config.escapeChar === undefined ? quote : config.escapeChar,
    comments: typeof comments === 'string' && comments !== '' && !BAD_DELIMITERS.includes(comments) ? comments : null,
    isFast: config.fastMode,
    newline: newlineOf(config.newline || guessNewline(text, config.quoteChar || '"')),
    skipEmpty: config.skipEmptyLines,
  };
}

export function parse(input, config = {}) {
  if (typeof input !== 'string') throw new TypeError('Input must be a string');
  const changed = typeof config.beforeFirstChunk === 'function' ? config.beforeFirstChunk(input) : undefined;
  const text = changed === undefined ? input : changed;
  const form = formOf(text, config);
  const unsure = [];
  const chosen = typeof config.delimiter === 'function' ? config.delimiter(text) : config.delimiter;
  // A delimiter that cannot be one is as good as none, and nothing is guessed.
  const isGiven = Boolean(config.delimiter);
  form.delimiter = typeof chosen === 'string' && !BAD_DELIMITERS.includes(chosen) ? chosen : DefaultDelimiter;
  if (!isGiven) {
    form.delimiter = guessDelimiter(text, form, config.delimitersToGuess || GUESSES);
    if (form.delimiter === null) {
      form.delimiter = DefaultDelimiter;
      const message = `Unable to auto-detect delimiting character; defaulted to '${DefaultDelimiter}'`;
      unsure.push({ type: 'Delimiter', code: 'UndetectableDelimiter', message });
    }
  }
  if (form.comments === form.delimiter) throw new Error('Comment character same as delimiter');
  const most = config.preview ? Number(config.preview) + (config.header ? 1 : 0) : Infinity;
  const read = text === '' ? { rows: [], errors: [], truncated: false, cursor: 0 } : readRows(text, form, most);
  const errors = [...read.errors, ...unsure];
  read.rows = read.rows.filter((row) => !isSkipped(row, form));
  const { delimiter, newline: linebreak } = form;
  const meta = { delimiter, linebreak, aborted: false, truncated: read.truncated, cursor: read.cursor };
  let data = read.rows;
  if (config.header) {
    const [head = [], ...body] = read.rows;
    const named = (name, at) => (config.transformHeader ? config.transformHeader(name, at) : name);
    meta.fields = head.map(named);
    body.forEach((row, number) => errors.push(...mismatch(row, meta.fields, number)));
    data = body.map((row) => objectOf(row, meta.fields, config));
  } else if (config.dynamicTyping || config.transform) {
    data = read.rows.map((row) => row.map((field, at) => valueOf(field, at, config)));
  }
  return deliver({ data, errors, meta }, config);
}

// Hands the result to the functions that wait for it, or gives it back.
function deliver(result, config) {
  if (typeof config.step === 'function') {
    let aborted = false;
    const handle = { abort: () => (aborted = true), pause() {}, resume() {} };
    for (const row of result.data) {
      if (aborted) break;
      config.step({ data: row, errors: [], meta: result.meta }, handle);
    }
    const rest = { data: [], errors: result.errors, meta: { ...result.meta, aborted } };
    if (typeof config.complete === 'function') config.complete(rest);
    return rest;
  }
  const isChunk = typeof config.chunk === 'function';
  if (isChunk) config.chunk(result);
  if (typeof config.complete === 'function') config.complete(isChunk ? undefined : result);
  return isChunk ? undefined : result;
}

// ---- writing -------------------------------------------------------------------------------------------------

// How to write, with the options that have the right type; others do not count.
function formOfOutput(given) {
  const config = given !== null && typeof given === 'object' ? given : {};
  const of = (type, value, other) => (typeof value === type ? value : other); // eslint-disable-line valid-typeof
  const { delimiter, quotes, columns } = config;
  if (Array.isArray(columns) && columns.length === 0) throw new Error('Option columns is empty');
  const isDelimiter = typeof delimiter === 'string' && !BAD_DELIMITERS.some((mark) => delimiter.includes(mark));
  const quote = of('string', config.quoteChar, '"');
  return {
    delimiter: isDelimiter ? delimiter : ',',
    quotes: ['boolean', 'function'].includes(typeof quotes) || Array.isArray(quotes) ? quotes : false,
    skipEmpty: of('boolean', config.skipEmptyLines, of('string', config.skipEmptyLines, false)),
    newline: of('string', config.newline, '\r\n'),
    header: of('boolean', config.header, true),
    columns: Array.isArray(columns) ? columns : null,
    quote,
    // Without an escape sign of its own, a quote is doubled, and always the usual one.
    escaped: config.escapeChar === undefined ? '""' : config.escapeChar + quote,
  };
}

function cell(value, column, form) {
  if (value === undefined || value === null) return '';
  if (value.constructor === Date) return JSON.stringify(value).slice(1, 25);
  const { quotes, quote, escaped, delimiter } = form;
  const text = value.toString().split(quote).join(escaped);
  const isAsked = typeof quotes === 'function' ? quotes(value, column) : quotes === true || quotes[column];
  const special = [...BAD_DELIMITERS, delimiter].some((mark) => text.includes(mark));
  return isAsked || special || text.startsWith(' ') || text.endsWith(' ') ? quote + text + quote : text;
}

function keysOf(row) {
  const keys = [];
  if (typeof row === 'object') for (const key in row) keys.push(key);
  return keys;
}

// Fields and rows of what is to be written.
function tableOf(input, form) {
  const given = typeof input === 'string' ? JSON.parse(input) : input;
  if (Array.isArray(given)) {
    if (given.length === 0 || Array.isArray(given[0])) return { fields: [], rows: given };
    if (typeof given[0] === 'object') return { fields: form.columns || keysOf(given[0]), rows: given };
  } else if (typeof given === 'object') {
    const rows = typeof given.data === 'string' ? JSON.parse(given.data) : given.data;
    if (!Array.isArray(rows)) return { fields: given.fields || [], rows: rows || [] };
    const own = given.fields || (given.meta && given.meta.fields);
    const fields = own || (Array.isArray(rows[0]) ? own : keysOf(rows[0]));
    return { fields: fields || [], rows: typeof rows[0] === 'object' ? rows : [rows] };
  }
  throw new Error('Unable to serialize unrecognized input');
}

// Whether a row is left out.
function isLeftOut(row, values, hasFields, skipEmpty) {
  if (skipEmpty === 'greedy') return (hasFields ? values : row).join('').trim() === '';
  return Boolean(skipEmpty) && !hasFields && row.length === 1 && row[0].length === 0;
}

export function unparse(input, config) {
  const form = formOfOutput(config);
  const { fields: given, rows } = tableOf(input, form);
  const fields = typeof given === 'string' ? JSON.parse(given) : given;
  const hasFields = Array.isArray(fields) && fields.length > 0;
  const byName = !Array.isArray(rows[0]);
  const line = (values) => values.map((value, at) => cell(value, at, form)).join(form.delimiter);
  let text = hasFields && form.header ? line(fields) + (rows.length > 0 ? form.newline : '') : '';
  rows.forEach((row, at) => {
    const width = hasFields ? fields.length : row.length;
    const isEmpty = (hasFields ? Object.keys(row) : row).length === 0;
    const values = Array.from({ length: width }, (_, column) => row[hasFields && byName ? fields[column] : column]);
    if (isLeftOut(row, values, hasFields, form.skipEmpty)) return;
    if (!isEmpty) text += line(values);
    if (at < rows.length - 1 && (!form.skipEmpty || (width > 0 && !isEmpty))) text += form.newline;
  });
  return text;
}

export default {
  parse,
  unparse,
  RECORD_SEP,
  UNIT_SEP,
  BYTE_ORDER_MARK,
  BAD_DELIMITERS,
  WORKERS_SUPPORTED,
  DefaultDelimiter,
};

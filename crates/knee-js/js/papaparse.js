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
  const plain = text.slice(0, 1024 * 1024).split(quote).filter((_, at) => at % 2 === 0).join('');
  const first = /\r\n|\n|\r/.exec(plain);
  return first === null ? '\n' : first[0];
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

  #complain(code, message, row) {
    this.errors.push({ type: 'Quotes', code, message, row, index: this.at });
  }

  #quoted(row) {
    let field = '';
    this.at += this.quote.length;
    for (;;) {
      const end = this.text.indexOf(this.quote, this.at);
      if (end < 0) {
        this.#complain('MissingQuotes', 'Quoted field unterminated', row);
        field += this.text.slice(this.at);
        this.at = this.text.length;
        return field;
      }
      // A quote before a quote, or after an escape sign of its own, is one of the text.
      if (this.escape === this.quote && this.text.startsWith(this.quote, end + this.quote.length)) {
        field += this.text.slice(this.at, end) + this.quote;
        this.at = end + 2 * this.quote.length;
      } else if (this.escape !== this.quote && this.text[end - 1] === this.escape && end > this.at) {
        field += this.text.slice(this.at, end - 1) + this.quote;
        this.at = end + this.quote.length;
      } else {
        const after = end + this.quote.length;
        const spaces = /^ */.exec(this.text.slice(after, after + 64))[0].length;
        const closes = [0, spaces].find((skip) => this.#endsField(after + skip));
        field += this.text.slice(this.at, end);
        this.at = after + (closes || 0);
        if (closes !== undefined) return field;
        this.#complain('InvalidQuotes', 'Trailing quote on quoted field is malformed', row);
        field += this.quote;
      }
    }
  }

  #endsField(at) {
    return (
      at >= this.text.length || this.text.startsWith(this.delimiter, at) || this.text.startsWith(this.newline, at)
    );
  }
}

const isEmptyRow = (row, greedy) =>
  greedy ? row.join('').trim() === '' : row.length === 1 && row[0].length === 0;

// Up to `most` rows of a text, without its comments and, when that is wanted, without its empty lines.
function readRows(text, form, most) {
  const reader = new Reader(text, form);
  const rows = [];
  while (!reader.isDone && rows.length < most) {
    const row = reader.row(rows.length);
    const skipped = row === null || (form.skipEmpty && isEmptyRow(row, form.skipEmpty === 'greedy'));
    if (!skipped) rows.push(row);
  }
  return { rows, errors: reader.errors, truncated: !reader.isDone, cursor: Math.min(reader.at, text.length) };
}

// The delimiter by which the first rows have the most even number of fields.
function guessDelimiter(text, form, guesses) {
  let best = null;
  for (const delimiter of guesses) {
    const { rows } = readRows(text, { ...form, delimiter }, GUESSED_ROWS);
    const counts = rows.map((row) => row.length);
    const steps = counts.slice(1).map((count, at) => Math.abs(count - counts[at]));
    const uneven = steps.reduce((sum, step) => sum + step, 0);
    const mean = counts.reduce((sum, count) => sum + count, 0) / Math.max(1, counts.length);
    if (mean > 1.99 && (best === null || uneven < best.uneven || (uneven === best.uneven && mean > best.mean))) {
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

function formOf(text, config) {
  const quote = config.quoteChar === undefined ? '"' : config.quoteChar || '';
  const comments = config.comments === true ? '#' : config.comments;
  return {
    quote,
    escape: config.escapeChar === undefined ? quote : config.escapeChar,
    comments: typeof comments === 'string' && comments !== '' ? comments : null,
    newline: config.newline || guessNewline(text, quote),
    skipEmpty: config.skipEmptyLines,
  };
}

export function parse(input, config = {}) {
  const text = String(input);
  const form = formOf(text, config);
  const unsure = [];
  const chosen = typeof config.delimiter === 'function' ? config.delimiter(text) : config.delimiter;
  form.delimiter = chosen && !BAD_DELIMITERS.includes(chosen) ? chosen : null;
  if (form.delimiter === null) {
    form.delimiter = guessDelimiter(text, form, config.delimitersToGuess || GUESSES);
    if (form.delimiter === null) {
      form.delimiter = DefaultDelimiter;
      const message = `Unable to auto-detect delimiting character; defaulted to '${DefaultDelimiter}'`;
      unsure.push({ type: 'Delimiter', code: 'UndetectableDelimiter', message });
    }
  }
  const most = config.preview ? Number(config.preview) + (config.header ? 1 : 0) : Infinity;
  const read = text === '' ? { rows: [], errors: [], truncated: false, cursor: 0 } : readRows(text, form, most);
  const errors = [...read.errors, ...unsure];
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
  if (typeof config.chunk === 'function') config.chunk(result);
  if (typeof config.complete === 'function') config.complete(result);
  return result;
}

// ---- writing -------------------------------------------------------------------------------------------------

function cell(value, column, row, form) {
  if (value === undefined || value === null) return '';
  const text = value instanceof Date ? JSON.stringify(value).slice(1, 25) : String(value);
  const { quotes, quote, escape, delimiter } = form;
  const asked = Array.isArray(quotes) ? quotes[column] : quotes;
  const isAsked = typeof asked === 'function' ? asked(value, column, row) : asked;
  const special = [delimiter, quote, '\r', '\n', BYTE_ORDER_MARK].some((mark) => text.includes(mark));
  const needed = special || text.startsWith(' ') || text.endsWith(' ');
  return isAsked === true || needed ? quote + text.split(quote).join(escape + quote) + quote : text;
}

function tableOf(input, config) {
  const given = typeof input === 'string' ? JSON.parse(input) : input;
  if (Array.isArray(given)) {
    if (given.length === 0 || Array.isArray(given[0])) return { fields: null, rows: given };
    const fields = config.columns || Object.keys(given[0]);
    return { fields, rows: given };
  }
  if (given !== null && typeof given === 'object') {
    const rows = typeof given.data === 'string' ? JSON.parse(given.data) : given.data || [];
    const first = Array.isArray(rows[0]) ? null : Object.keys(rows[0] || {});
    const isPlain = rows.length > 0 && typeof rows[0] !== 'object';
    return { fields: given.fields || (given.meta && given.meta.fields) || first, rows: isPlain ? [rows] : rows };
  }
  throw new Error('Unable to serialize unrecognized input');
}

export function unparse(input, config = {}) {
  const quote = config.quoteChar || '"';
  const form = {
    quote,
    quotes: config.quotes === undefined ? false : config.quotes,
    escape: config.escapeChar === undefined ? quote : config.escapeChar,
    delimiter: config.delimiter && !BAD_DELIMITERS.includes(config.delimiter) ? config.delimiter : ',',
  };
  const { fields, rows } = tableOf(input, config);
  const line = (values, row) => values.map((value, at) => cell(value, at, row, form)).join(form.delimiter);
  const lines = [];
  if (fields !== null && fields.length > 0 && config.header !== false) lines.push(line(fields, -1));
  rows.forEach((row, number) => {
    const values = Array.isArray(row) || fields === null ? Array.from(row) : fields.map((field) => row[field]);
    const shown = values.map((value) => (value === undefined || value === null ? '' : String(value)));
    const greedy = config.skipEmptyLines === 'greedy';
    const empty = greedy ? shown.join('').trim() === '' : shown.length === 1 && shown[0] === '';
    if (!(config.skipEmptyLines && empty)) lines.push(line(values, number));
  });
  return lines.join(config.newline || '\r\n');
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

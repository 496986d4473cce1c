// knee's own answer to https://jslib.k6.io/k6-summary: textSummary, jUnit, humanizeValue.
//
// Written from the documented interface and from what k6 prints; it contains nothing of the original.
// It lays out the data object of handleSummary and calculates nothing anew.

const SUCCESS = '\u2713';
const FAILURE = '\u2717';
const RESET = '\x1b[0m';
const INK = { red: '31', green: '32', cyan: '36', faint: '2', fainter: '36;2' };

const plain = (text) => text;
const painter = (colours) => (colours ? (text, ink) => `\x1b[${INK[ink]}m${text}${RESET}` : plain);

// ---- numbers -------------------------------------------------------------------------------------------------

const withoutZeros = (text) => String(parseFloat(text));
const rounded = (number, digits) => withoutZeros(number.toFixed(digits));
const cut = (number, digits) => {
  const scale = 10 ** digits;
  return withoutZeros((Math.trunc(scale * number) / scale).toFixed(digits));
};

function bytes(number) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB', 'YB'];
  if (number < 10) return `${number} B`;
  const power = Math.floor(Math.log(number) / Math.log(1000));
  const scaled = Math.floor((number / 1000 ** power) * 10 + 0.5) / 10;
  return `${scaled.toFixed(scaled < 10 ? 1 : 0)} ${units[power | 0]}`;
}

// Milliseconds as people read them: the largest unit that is not less than one.
function time(ms) {
  if (ms === 0) return '0s';
  if (ms < 0.001) return `${Math.trunc(ms * 1e6)}ns`;
  if (ms < 1) return `${cut(ms * 1000, 2)}\u00b5s`;
  if (ms < 1000) return `${cut(ms, 2)}ms`;
  const minutes = Math.trunc(ms / 60000);
  const seconds = `${cut((ms % 60000) / 1000, ms > 60000 ? 0 : 2)}s`;
  if (minutes < 1) return seconds;
  const hours = Math.trunc(minutes / 60);
  return hours < 1 ? `${minutes % 60}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}

const TIME_UNITS = { s: [0.001, 's'], ms: [1, 'ms'], us: [1000, '\u00b5s'] };

function timeIn(ms, unit) {
  const fixed = TIME_UNITS[unit];
  return fixed ? `${(ms * fixed[0]).toFixed(2)}${fixed[1]}` : time(ms);
}

export function humanizeValue(value, metric, timeUnit) {
  if (metric.type === 'rate') return `${(Math.trunc(value * 100 * 100) / 100).toFixed(2)}%`;
  switch (metric.contains) {
    case 'data':
      return bytes(value);
    case 'time':
      return timeIn(value, timeUnit);
    default:
      return rounded(value, 6);
  }
}

// ---- groups and checks ---------------------------------------------------------------------------------------

function checkLine(check, indent, paint) {
  if (check.fails === 0) return paint(`${indent}${SUCCESS} ${check.name}`, 'green');
  const share = Math.floor((100 * check.passes) / (check.passes + check.fails));
  const counts = `${SUCCESS} ${check.passes} / ${FAILURE} ${check.fails}`;
  const detail = `${indent} \u21b3  ${share}% \u2014 ${counts}`;
  return paint(`${indent}${FAILURE} ${check.name}\n${detail}`, 'red');
}

function groupLines(group, indent, paint) {
  const lines = [];
  let inner = indent;
  if (group.name !== '') {
    lines.push(`${indent}\u2588 ${group.name}`, '');
    inner += '  ';
  }
  for (const check of Object.values(group.checks || [])) lines.push(checkLine(check, inner, paint));
  if (lines.length > 0 && lines[lines.length - 1] !== '') lines.push('');
  for (const nested of Object.values(group.groups || [])) lines.push(...groupLines(nested, inner, paint));
  return lines;
}

// ---- metrics -------------------------------------------------------------------------------------------------

// The order of dictionaries: marks before digits before letters, and capitals next to their small letters.
const MARKS = ' _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';

function rank(letter) {
  if (letter >= '0' && letter <= '9') return 1000 + letter.charCodeAt(0);
  const mark = MARKS.indexOf(letter);
  return mark >= 0 ? mark : 2000 + letter.toLowerCase().charCodeAt(0);
}

function compareTexts(one, other) {
  for (let at = 0; at < one.length && at < other.length; at += 1) {
    const difference = rank(one[at]) - rank(other[at]);
    if (difference !== 0) return difference;
  }
  if (one.length !== other.length) return one.length - other.length;
  if (one === other) return 0;
  return one < other ? 1 : -1;
}

const parentOf = (name) => name.split('{', 1)[0];

function compareMetrics(one, other) {
  const parents = compareTexts(parentOf(one), parentOf(other));
  return parents !== 0 ? parents : compareTexts(one, other);
}

function shownName(name) {
  const tags = name.indexOf('{');
  return tags < 0 ? name : `{ ${name.slice(tags + 1, -1)} }`;
}

// What one metric that is no trend says: its value, and one or two figures besides.
function figures(metric, timeUnit) {
  const { values } = metric;
  const show = (value) => humanizeValue(value, metric, timeUnit);
  switch (metric.type) {
    case 'counter':
      return [show(values.count), `${show(values.rate)}/s`];
    case 'gauge':
      return [show(values.value), `min=${show(values.min)}`, `max=${show(values.max)}`];
    case 'rate':
      return [show(values.rate), `${SUCCESS} ${values.passes}`, `${FAILURE} ${values.fails}`];
    default:
      return ['[no data]'];
  }
}

function trendFigures(metric, stats, timeUnit) {
  return stats.map((stat) => {
    const value = metric.values[stat];
    if (value === undefined) return '';
    return stat === 'count' ? String(value) : humanizeValue(value, metric, timeUnit);
  });
}

const pad = (text, width) => ' '.repeat(Math.max(0, width - text.length));

// The widest text of each column.
function widths(rows) {
  const wide = [];
  for (const row of rows) {
    row.forEach((text, column) => {
      wide[column] = Math.max(wide[column] || 0, text.length);
    });
  }
  return wide;
}

function plainCells(row, wide, paint) {
  const [value, ...others] = row;
  const first = `${paint(value, 'cyan')}${pad(value, wide[0])}`;
  if (others.length === 0) return first;
  const cells = others.map((text, column) => {
    const padding = others.length > 1 ? pad(text, wide[column + 1]) : '';
    return paint(text, 'fainter') + padding;
  });
  return [first, ...cells].join(' ');
}

function trendCells(row, stats, wide, paint) {
  return row.map((text, at) => `${stats[at]}=${paint(text, 'cyan')}${pad(text, wide[at])}`).join(' ');
}

function mark(metric, paint) {
  const thresholds = Object.values(metric.thresholds || {});
  if (thresholds.length === 0) return '';
  return thresholds.every((threshold) => threshold.ok) ? paint(SUCCESS, 'green') : paint(FAILURE, 'red');
}

function metricLines(data, indent, paint, timeUnit, stats) {
  const names = Object.keys(data.metrics).sort(compareMetrics);
  const isTrend = (name) => data.metrics[name].type === 'trend';
  const rows = new Map();
  for (const name of names) {
    const metric = data.metrics[name];
    rows.set(name, isTrend(name) ? trendFigures(metric, stats, timeUnit) : figures(metric, timeUnit));
  }
  const wideTrends = widths(names.filter(isTrend).map((name) => rows.get(name)));
  const widePlain = widths(names.filter((name) => !isTrend(name)).map((name) => rows.get(name)));
  const inset = (name) => (name.includes('{') ? '  ' : '');
  const wideNames = Math.max(0, ...names.map((name) => shownName(name).length + inset(name).length));
  return names.map((name) => {
    const shown = shownName(name);
    const dots = '.'.repeat(wideNames - shown.length - inset(name).length + 3);
    const sign = mark(data.metrics[name], paint);
    const lead = `${indent}${inset(name)}${sign === '' ? '  ' : `${sign} `}`;
    const row = rows.get(name);
    const cells = isTrend(name) ? trendCells(row, stats, wideTrends, paint) : plainCells(row, widePlain, paint);
    return `${lead}${shown}${paint(`${dots}:`, 'faint')} ${cells}`;
  });
}

export function textSummary(data, options) {
  const given = options || {};
  const indent = given.indent === undefined ? ' ' : given.indent;
  const own = data.options || {};
  const paint = painter(given.enableColors === undefined || given.enableColors);
  const timeUnit = given.summaryTimeUnit || own.summaryTimeUnit || '';
  const stats = given.summaryTrendStats || own.summaryTrendStats || ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)'];
  const groups = groupLines(data.root_group, `${indent}    `, paint);
  return [...groups, ...metricLines(data, `${indent}  `, paint, timeUnit, stats)].join('\n');
}

// ---- XML -----------------------------------------------------------------------------------------------------

const ENTITIES = { '<': '&lt;', '>': '&gt;', '&': '&amp;', "'": '&#39;', '"': '&quot;' };
const escaped = (text) => String(text).replace(/[<>&'"]/g, (letter) => ENTITIES[letter]);

export function jUnit(data, options) {
  const suite = escaped((options && options.name) || 'k6 thresholds');
  const folder = escaped((options && options.classname) || 'Unnamed folder');
  const cases = [];
  let failures = 0;
  for (const [name, metric] of Object.entries(data.metrics)) {
    const values = Object.entries(metric.values || {}).map(([stat, value]) => `${stat} value: ${value}`);
    for (const [expression, threshold] of Object.entries(metric.thresholds || {})) {
      const head = `<testcase name="${escaped(name)} - ${escaped(expression)}" classname="${folder}"`;
      if (threshold.ok) {
        cases.push(`${head} />`);
      } else {
        failures += 1;
        const words = escaped(`${metric.type} threshold failed: ${values.join(', ')}`);
        cases.push(`${head}><failure message="${words}" /></testcase>`);
      }
    }
  }
  const counts = `tests="${cases.length}" failures="${failures}"`;
  return [
    '<?xml version="1.0"?>',
    `    <testsuites ${counts}>`,
    `      <testsuite name="${suite}" ${counts}>`,
    `        ${cases.join('\n')}`,
    '      </testsuite>',
    '    </testsuites>',
  ].join('\n');
}

// row: language
// env: TZ=America/New_York
// Texts, numbers and dates in "the locale": k6 has one, whatever is asked for.
const words = ['Z', 'b', 'ä', 'a', 'A', 'B', 'z', 'é', 'e', 'f', 'Ä', 'ß', 'ss', 'st', '10', '9', '_', '-', ' ', '', 'ø', 'o', 'p',
  'résumé', 'resume', 'Resume', 'co-op', 'coop', 'CO-OP', 'ñ', 'n', 'o', '日本', '中国', 'я', 'а', 'Ж', 'ω', 'α', '😀', '😁', '$', '€', 'æ', 'ad', 'af', 'ı', 'i', 'I', 'İ'];
const said = (call) => {
  try { return String(call()); } catch (e) { return `${e.name}: ${e.message}`; }
};
export default function () {
  console.log(JSON.stringify([...words].sort((a, b) => a.localeCompare(b))));
  for (const [a, b] of [['a', 'a'], ['a', 'b'], ['b', 'a'], ['a', 'á'], ['a\u0301', 'á'], ['a', 'A'], ['', 'a'], ['1', 1], ['undefined']]) {
    console.log(JSON.stringify([a, b]), a.localeCompare(b));
  }
  console.log('a'.localeCompare('b', 'de', { sensitivity: 'base' }), 'a'.localeCompare('A', 'en', { sensitivity: 'base' }));
  console.log(said(() => String.prototype.localeCompare.call(null, 'a')), String.prototype.localeCompare.length, ''.localeCompare.name);
  for (const n of [0, -0, 1234567.891, 1e21, 0.1, -5, NaN, Infinity]) console.log(n.toLocaleString());
  for (const given of ['en-US', undefined, null, 16, 2, 37, {}]) console.log(String(given), said(() => (255).toLocaleString(given)));
  console.log(said(() => (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' })));
  console.log(said(() => 12345678901234567890n.toLocaleString()), said(() => 255n.toLocaleString(16)));
  for (const time of [0, 1700000000123, 951782400000, -1e12, NaN, 253402300799000]) {
    const date = new Date(time);
    console.log(date.toLocaleString(), '|', date.toLocaleDateString(), '|', date.toLocaleTimeString());
    console.log(date.toLocaleString('de-DE', { timeZone: 'UTC' }), '|', date.toLocaleDateString('en-GB'), '|', date.toLocaleTimeString('en-US', { hour12: true }));
  }
  console.log([1.5, 'a', null, undefined, new Date(0), [2, 3]].toLocaleString());
  console.log('ÀI'.toLocaleLowerCase(), 'ßi'.toLocaleUpperCase(), ({ a: 1 }).toLocaleString());
}

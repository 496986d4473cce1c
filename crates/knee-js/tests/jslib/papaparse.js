// passed: 0
// failed: 0
import papaparse, { parse } from 'https://jslib.k6.io/papaparse/5.1.1/index.js';

const same = (found, expected) => {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) console.error(`${one} instead of ${other}`);
};

export default function () {
  same(parse('a,b\n1,2\n3,4').data, [['a', 'b'], ['1', '2'], ['3', '4']]);
  same(papaparse.parse('a,b\r\n1,2\r\n', { header: true, skipEmptyLines: true }).data, [{ a: '1', b: '2' }]);
  same(parse('"x ""q""","l1\nl2",\n', { skipEmptyLines: true }).data, [['x "q"', 'l1\nl2', '']]);
  same(parse('a;b\n1;2').meta.delimiter, ';');
  same(parse('a,b\n1,true\n,x', { header: true, dynamicTyping: true }).data, [{ a: 1, b: true }, { a: null, b: 'x' }]);
  same(parse('a,b\n1\n1,2,3', { header: true }).errors.map((error) => `${error.row} ${error.code}`), ['0 TooFewFields', '1 TooManyFields']);
  same(parse('#no\na,b', { comments: '#' }).data, [['a', 'b']]);
  same(parse('a,b\n1,2\n3,4', { preview: 1, header: true }).data, [{ a: '1', b: '2' }]);
  same(parse('"open,1').errors[0].code, 'MissingQuotes');
  same(papaparse.unparse([{ a: 1, b: 'x,y' }, { a: null, b: 'q"' }]), 'a,b\r\n1,"x,y"\r\n,"q"""');
  same(papaparse.unparse({ fields: ['a'], data: [[1]] }, { newline: '\n' }), 'a\n1');
}

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
  const json = (value) => JSON.stringify(value);
  const broken = papaparse.parse('"a"b,c', { delimiter: ',' });
  same(json(broken.data), '[["a\\"b,c"]]');
  same(broken.errors.map(({ code, index }) => `${code} ${index}`).join(), 'InvalidQuotes 1,MissingQuotes 1');
  const { data, meta } = papaparse.parse('a,b\n1,2\n3,4', { preview: 1 });
  same(json([data, meta.truncated, meta.cursor]), '[[["a","b"]],true,8]');
  same(json(papaparse.parse('a;b', { delimiter: '\n' }).data), '[["a;b"]]');
  same(papaparse.unparse([[" x", 'a"b', null, '#']], { newline: '\n' }), '" x","a""b",,#');
  same(papaparse.unparse([{ a: 1 }, {}, { a: 2 }], { skipEmptyLines: 'greedy' }), 'a\r\n1\r\n2');
  const refused = (call) => {
    try {
      return call();
    } catch (error) {
      return error.message;
    }
  };
  same(refused(() => papaparse.unparse([{ a: 1 }], { columns: [] })), 'Option columns is empty');
  same(refused(() => papaparse.parse(undefined)), 'Input must be a string');
}

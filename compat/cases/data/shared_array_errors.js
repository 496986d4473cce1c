// row: k6/data.SharedArray
import { SharedArray } from 'k6/data';
const said = [];
const attempt = (name, make) => { try { make(); said.push(`${name} made`); } catch (e) { said.push(`${name} refused`); } };
attempt('no array', () => new SharedArray('a', () => ({})));
attempt('no name', () => new SharedArray('', () => []));
attempt('no function', () => new SharedArray('b'));
attempt('throws', () => new SharedArray('c', () => { throw new Error('inside'); }));
attempt('empty', () => new SharedArray('d', () => []));
export default function () { attempt('late', () => new SharedArray('e', () => [1])); console.log(said.join()); }

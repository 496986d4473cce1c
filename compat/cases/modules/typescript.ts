// row: modules.TypeScript
import { check } from 'k6';
import http from 'k6/http';
import { Options } from 'k6/options';
import { Colour, Named, describe } from './material/types.ts';
export const options: Options = { iterations: 1 };
abstract class Base<T> { constructor(protected readonly value: T, public tag: string = 'none') {} abstract show(): string; }
class Own extends Base<number> { show(): string { return `${this.value} ${this.tag}`; } }
namespace Space { export const inner = 3; }
const ann: Named = { name: 'ann' };
let maybe: string | undefined;
export default function (): void {
  console.log(Colour.Red, Colour.Green, Colour.Blue, Colour[5], describe(ann), new Own(1).show(), Space.inner, maybe?.length ?? 'undefined');
  const res = http.get(`${__ENV.BASE}/get` as string);
  check(res, { ok: (r) => r!.status === 200 });
  const tuple = <const T,>(x: T): T => x;
  console.log(tuple(5) satisfies number);
}

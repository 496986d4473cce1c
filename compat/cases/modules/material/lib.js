export const value = 1;
export default function hello(name) { return `hello ${name}`; }
export function bump() { return ++counter; }
export let counter = 0;
export class Shape { area = 2; static of() { return new Shape(); } }

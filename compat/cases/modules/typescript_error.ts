// row: modules.TypeScript
interface Thing { a: number }
export default function (): void {
  const thing: Thing = { a: 1 };
  throw new Error(`from typescript ${thing.a}`);
}

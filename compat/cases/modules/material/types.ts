export enum Colour { Red, Green = 5, Blue }
export interface Named { name: string; age?: number }
export type Id = string | number;
export const describe = <T extends Named>(x: T): string => `${x.name}:${x.age ?? 'none'}`;

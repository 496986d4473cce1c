// row: life cycle.default
export const options = {};
export function other() {}

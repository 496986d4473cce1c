// knee's own answer to https://jslib.k6.io/k6-utils: releases 1.0.0 and 1.1.0, whose findBetween() finds one text, or
// an empty one. They have the functions of later releases, too.

import { findBetween as findAny } from './k6-utils.js';

export * from './k6-utils.js';

export function findBetween(content, left, right) {
  const found = findAny(content, left, right);
  return found === null ? '' : found;
}

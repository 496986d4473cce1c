// knee's own k6chaijs: values by a path such as `a.b[1].c`.
//
// A dot or bracket that belongs to a name stands behind a backslash.

const FORBIDDEN = ['constructor', '__proto__', 'prototype'];

// The names and indexes of a path. Names that lead out of the data are undefined.
function stepsOf(path) {
  const parts = path.replace(/([^\\])\[/g, '$1.[').match(/(\\\.|[^.])+/g);
  return parts.map((part) => {
    if (FORBIDDEN.includes(part)) return undefined;
    const index = /^\[(\d+)\]$/.exec(part);
    return index === null ? part.replace(/\\([.[\]])/g, '$1') : parseFloat(index[1]);
  });
}

// Where the steps lead: null where nothing is on the way.
function follow(object, steps) {
  let value = object;
  let found = null;
  steps.forEach((step, at) => {
    if (!value) return;
    value = value[step];
    if (at === steps.length - 1) found = value;
  });
  return found;
}

// Whether a value has a property, its own or of a prototype.
export const hasProperty = (value, name) => value !== undefined && value !== null && name in Object(value);

// What is at a path: `{ parent, name, value, exists }`.
export function pathInfo(object, path) {
  const steps = stepsOf(path);
  const parent = steps.length > 1 ? follow(object, steps.slice(0, -1)) : object;
  const name = steps[steps.length - 1];
  return { parent, name, value: follow(object, steps), exists: hasProperty(parent, name) };
}

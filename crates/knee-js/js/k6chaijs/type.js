// knee's own k6chaijs: the names of types that assertions use, such as `string`, `Array`, `Map` and `Object`.
//
// It knows the types of JavaScript and those that name themselves; it knows nothing of browsers.

const BY_PROTOTYPE = new Map([
  [RegExp.prototype, 'RegExp'],
  [Date.prototype, 'Date'],
  [null, 'Object'],
]);

// The type of a value: `null`, what `typeof` says of other primitives and of functions, or the kind of the object.
export function typeOf(value) {
  if (typeof value !== 'object') return typeof value;
  if (value === null) return 'null';
  if (value === globalThis) return 'global';
  if (Array.isArray(value) && !(Symbol.toStringTag in value)) return 'Array';
  const tag = value[Symbol.toStringTag];
  if (typeof tag === 'string') return tag;
  return BY_PROTOTYPE.get(Object.getPrototypeOf(value)) || rawType(value);
}

// The name in `[object Name]`.
export const rawType = (value) => Object.prototype.toString.call(value).slice(8, -1);

// The same, in small letters.
export const kindOf = (value) => typeOf(value).toLowerCase();

// The name of a function; null for other values.
export const nameOf = (value) => (typeof value === 'function' ? value.name : null);

// `a string`, `an array`.
export const article = (word) => `${'aeiou'.includes(word.charAt(0)) && word !== '' ? 'an' : 'a'} ${word}`;

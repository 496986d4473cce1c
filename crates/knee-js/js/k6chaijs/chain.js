// knee's own k6chaijs: the chain of words behind expect(), and how plugins add words to it.
//
// Every step gives a new assertion with the flags of the one before. Unknown words are refused with the nearest word
// that exists. A chain knows no assertion of its own; the files beside this one add them.

const INNER = ['__flags', '__methods', '_obj', 'assert'];
// Words that must be at most this far from an unknown one to be suggested.
const FARTHEST = 4;

// A flag of an assertion: read, or set when a value is given.
export function flag(assertion, name, ...value) {
  const flags = assertion.__flags || (assertion.__flags = Object.create(null));
  if (value.length === 0) return flags[name];
  [flags[name]] = value;
  return undefined;
}

// Copies flags; without `all`, what is asserted and its name stay as they are.
export function transferFlags(from, to, all = true) {
  const flags = from.__flags || (from.__flags = Object.create(null));
  if (!to.__flags) to.__flags = Object.create(null);
  for (const name of Object.keys(flags)) {
    if (all || !['object', 'ssfi', 'lockSsfi', 'message'].includes(name)) to.__flags[name] = flags[name];
  }
}

// How many letters must be put in, left out or changed to turn one word into the other; at most `FARTHEST` counts.
function distance(one, other) {
  if (Math.abs(one.length - other.length) >= FARTHEST) return FARTHEST;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let down = 1; down <= one.length; down += 1) {
    const next = [down];
    for (let across = 1; across <= other.length; across += 1) {
      const change = row[across - 1] + (one[down - 1] === other[across - 1] ? 0 : 1);
      const isFar = Math.abs(down - across) >= FARTHEST;
      next[across] = isFar ? FARTHEST : Math.min(row[across] + 1, next[across - 1] + 1, change);
    }
    row = next;
  }
  return row[other.length];
}

function wordsOf(target) {
  const words = new Set();
  for (let holder = target; holder !== null; holder = Object.getPrototypeOf(holder)) {
    Object.getOwnPropertyNames(holder).forEach((word) => words.add(word));
  }
  return words;
}

function nearest(word, target) {
  let found = null;
  let least = FARTHEST;
  for (const candidate of wordsOf(target)) {
    if (Object.hasOwn(Object.prototype, candidate) || INNER.includes(candidate)) continue;
    const far = distance(word, candidate);
    if (far < least) [found, least] = [candidate, far];
  }
  return found;
}

// `.length` of a word that is a function would be the number of its parameters.
function guardLength(call, word, canFollow) {
  Object.defineProperty(call, 'length', {
    get() {
      if (!canFollow) throw Error(`Invalid Chai property: ${word}.length. See docs for proper usage of "${word}".`);
      const use = `"length" cannot directly follow "${word}". Use "${word}.lengthOf" instead.`;
      throw Error(`Invalid Chai property: ${word}.length. Due to a compatibility issue, ${use}`);
    },
  });
  return call;
}

// A maker of chains: `{ Assertion, util }`, with `assert` as what every assertion ends in. `config` is read at each
// use, and `equality` gives what compares deeply.
export function chains(config, equality) {
  const isProxyEnabled = () => config.useProxy;

  // Refuses words that the target does not have; `owner` is the word whose property would be read.
  function proxify(target, owner) {
    if (!isProxyEnabled()) return target;
    return new Proxy(target, {
      get(held, word) {
        if (typeof word !== 'string' || config.proxyExcludedKeys.includes(word) || Reflect.has(held, word)) {
          return Reflect.get(held, word);
        }
        if (owner) throw Error(`Invalid Chai property: ${owner}.${word}. See docs for proper usage of "${owner}".`);
        const near = nearest(word, held);
        throw Error(`Invalid Chai property: ${word}${near === null ? '' : `. Did you mean "${near}"?`}`);
      },
    });
  }

  function Assertion(object, message, start, isLocked) {
    flag(this, 'ssfi', start || Assertion);
    flag(this, 'lockSsfi', isLocked);
    flag(this, 'object', object);
    flag(this, 'message', message);
    flag(this, 'eql', equality());
    return proxify(this);
  }

  // What a word gives back, or the next step of the chain.
  function next(assertion, result) {
    if (result !== undefined) return result;
    const step = new Assertion();
    transferFlags(assertion, step);
    return step;
  }

  const words = wordKinds(next, proxify);
  const util = { flag, transferFlags, proxify, isProxyEnabled, addLengthGuard: guardLength, ...words };
  for (const kind of Object.keys(words)) {
    Assertion[kind] = function add(...given) {
      words[kind](this.prototype, ...given);
    };
  }
  return { Assertion, util };
}

// The kinds of words. Each function adds one to a prototype.
function wordKinds(next, proxify) {
  const getter = (prototype, word, get) => Object.defineProperty(prototype, word, { get, configurable: true });

  function addProperty(prototype, word, state = () => {}) {
    getter(prototype, word, function read() {
      return next(this, state.call(this));
    });
  }

  function addMethod(prototype, word, method) {
    const call = function callWord(...given) {
      return next(this, method.apply(this, given));
    };
    prototype[word] = proxify(guardLength(call, word, false), word);
  }

  function addChainableMethod(prototype, word, method, chaining = () => {}) {
    const kept = { method, chainingBehavior: typeof chaining === 'function' ? chaining : () => {} };
    if (!prototype.__methods) prototype.__methods = {};
    prototype.__methods[word] = kept;
    getter(prototype, word, function read() {
      kept.chainingBehavior.call(this);
      const call = function callWord(...given) {
        return next(this, kept.method.apply(this, given));
      };
      guardLength(call, word, true);
      const { call: plainCall, apply } = Function.prototype;
      Object.setPrototypeOf(call, Object.assign(Object.create(this), { call: plainCall, apply }));
      transferFlags(this, call);
      return proxify(call);
    });
  }

  function overwriteProperty(prototype, word, wrap) {
    const before = Object.getOwnPropertyDescriptor(prototype, word)?.get || (() => {});
    addProperty(prototype, word, function read() {
      return wrap(before).call(this);
    });
  }

  function overwriteMethod(prototype, word, wrap) {
    const before = prototype[word];
    const refuse = () => {
      throw new Error(`${word} is not a function`);
    };
    addMethod(prototype, word, function call(...given) {
      return wrap(typeof before === 'function' ? before : refuse).apply(this, given);
    });
  }

  function overwriteChainableMethod(prototype, word, wrapMethod, wrapChaining) {
    const kept = prototype.__methods[word];
    const { method, chainingBehavior } = kept;
    kept.chainingBehavior = function chain() {
      return next(this, wrapChaining(chainingBehavior).call(this));
    };
    kept.method = function call(...given) {
      return next(this, wrapMethod(method).apply(this, given));
    };
  }

  return {
    addProperty, addMethod, addChainableMethod, overwriteProperty, overwriteMethod, overwriteChainableMethod,
  };
}

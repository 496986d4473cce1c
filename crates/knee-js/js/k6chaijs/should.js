// knee's own k6chaijs: expect.fail(), and the style `value.should.equal(1)` for scripts that ask for it.

const WRAPPERS = [String, Number, Boolean, Symbol, BigInt];

// A function that fails: `fail(message)` or `fail(actual, expected, message, operator)`.
export function failing(AssertionError, text) {
  return function fail(first, expected, message, operator) {
    const isMessage = arguments.length < 2;
    const words = (isMessage ? first : message) || text;
    throw new AssertionError(words, { actual: isMessage ? undefined : first, expected, operator }, fail);
  };
}

// Adds the style to a library. It takes effect when the script calls `chai.should()`.
export function addShould(library) {
  const { Assertion, AssertionError } = library;
  function should() {
    Object.defineProperty(Object.prototype, 'should', {
      get() {
        const isWrapped = WRAPPERS.some((wrapper) => this instanceof wrapper);
        return new Assertion(isWrapped ? this.valueOf() : this, null);
      },
      set(value) {
        Object.defineProperty(this, 'should', { value, enumerable: true, configurable: true, writable: true });
      },
      configurable: true,
    });
    const equal = (isNot) => (value, expected, message) => target(value, message, isNot).equal(expected);
    const throws = (isNot) => (call, kind, text, message) => target(call, message, isNot).Throw(kind, text);
    const exists = (isNot) => (value, message) => target(value, message, isNot).exist;
    const target = (value, message, isNot) => {
      const { to } = new Assertion(value, message);
      return isNot ? to.not : to;
    };
    const style = (isNot) => {
      const Throw = discard(throws(isNot));
      return { equal: discard(equal(isNot)), Throw, exist: discard(exists(isNot)), throw: Throw };
    };
    const { throw: throwing, ...plain } = style(false);
    return { fail: failing(AssertionError, 'should.fail()'), ...plain, not: style(true), throw: throwing };
  }
  Object.assign(library, { should, Should: should });
}

// A function that gives nothing back.
const discard = (call) => (...given) => {
  call(...given);
};

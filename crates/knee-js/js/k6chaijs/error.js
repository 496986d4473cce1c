// knee's own k6chaijs: the error of an assertion that does not hold.
//
// Its message and details are properties of its own that can be listed, unlike those of other errors.

const RESERVED = ['name', 'message', 'stack', 'constructor', 'toJSON'];

export class AssertionError {
  // `details` are kept as properties, such as `actual`, `expected`, `showDiff` and `operator`.
  constructor(message, details, start = AssertionError) {
    this.message = message || 'Unspecified AssertionError';
    this.showDiff = false;
    for (const [key, value] of Object.entries(details || {})) if (!RESERVED.includes(key)) this[key] = value;
    if (Error.captureStackTrace) Error.captureStackTrace(this, start);
    else this.stack = new Error(this.message).stack;
  }

  toJSON(withStack) {
    const json = { name: this.name, ...this };
    delete json.stack;
    if (withStack !== false && this.stack) json.stack = this.stack;
    return json;
  }
}
Object.setPrototypeOf(AssertionError.prototype, Error.prototype);
AssertionError.prototype.name = 'AssertionError';

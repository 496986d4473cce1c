// Streams of k6/experimental/streams, after the WHATWG standard as k6 follows it. As in k6, streams, readers and
// controllers have their methods as properties of their own. Without streams of bytes and without `tee`.
(native) => {
  const { create, defineProperty } = Object;
  const noop = () => {};
  const fix = (object, name, value) => defineProperty(object, name, { value, enumerable: true });
  const show = (object, name, get) => defineProperty(object, name, { get, enumerable: true });
  const isNone = (value) => value === undefined || value === null;
  // What Go sees as a map.
  const isObject = (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
    && !['Date', 'Map', 'Set', 'Promise', 'Number', 'Boolean'].includes(
      Object.prototype.toString.call(value).slice(8, -1));
  // As k6 throws a value that it got from a script.
  const asThrown = (value) => {
    if (value === null) throw new TypeError('Cannot convert undefined or null to object');
    return value === undefined ? value : Object(value);
  };
  const one = () => 1;
  // What a stream does without a function of the script.
  const nothing = () => Promise.resolve();

  // The state behind a stream.
  const streams = new WeakMap();

  const strategyOf = (given, size) => {
    if (!isObject(given)) throw new TypeError('CountQueuingStrategy argument must be an object');
    const mark = given.highWaterMark;
    if (isNone(mark)) throw new TypeError("CountQueuingStrategy argument must have 'highWaterMark' property");
    const strategy = fix({}, 'highWaterMark', mark);
    return isNone(size) ? strategy : fix(strategy, 'size', size);
  };

  // The strategy of a stream, from what it was made with.
  const readStrategy = (source, given) => {
    const strategy = isNone(given) ? {} : Object(given);
    if (isNone(strategy.highWaterMark)) strategy.highWaterMark = 1;
    const isBytes = !isNone(source) && String(source.type) === 'bytes';
    return strategyOf(strategy, 'size' in strategy ? strategy.size : isBytes ? undefined : one);
  };

  const highWaterMarkOf = ({ highWaterMark }) => {
    if (typeof highWaterMark !== 'number' || !(highWaterMark >= 0)) {
      throw new RangeError('highWaterMark must be a non-negative number');
    }
    return highWaterMark;
  };

  const sizeOf = ({ size }) => {
    if (isNone(size)) return one;
    if (typeof size !== 'function') throw new TypeError('size must be a function');
    return size;
  };

  // The functions of a source that are there.
  const readSource = (source) => {
    if (source === undefined) return {};
    if (!isObject(source)) throw new TypeError('underlyingSource must be an object');
    if (source.type !== undefined && String(source.type) !== 'bytes') {
      throw new TypeError('invalid underlying source type');
    }
    const found = {};
    for (const name of ['start', 'pull', 'cancel']) if (name in source) found[name] = source[name];
    if (source.type !== undefined) native.fail("NotSupportedError:'bytes' stream is not supported yet");
    return found;
  };

  const callableOf = (found, name) => {
    if (name in found && typeof found[name] !== 'function') {
      throw new TypeError(`underlyingSource.[[${name}]] must be a function`);
    }
    return found[name];
  };

  // A stream: what is queued, who reads, and what the source is asked for.
  class State {
    reader;
    name = 'readable';
    error;
    queue = [];
    total = 0;
    started = false;
    closing = false;
    pulling = false;
    again = false;

    constructor(source, found, mark, size) {
      const [start, pull, cancel] = ['start', 'pull', 'cancel'].map((name) => callableOf(found, name));
      this.mark = mark;
      this.size = size;
      this.pull = pull === undefined ? nothing : (controller) => {
        try {
          const pulled = pull.call(source, controller);
          return pulled instanceof Promise ? pulled : Promise.resolve(pulled);
        } catch (thrown) {
          return Promise.reject(thrown);
        }
      };
      this.cancelSource = cancel === undefined ? nothing : (reason) => {
        try {
          const cancelled = cancel.call(source, reason);
          return cancelled instanceof Promise ? cancelled : Promise.resolve();
        } catch (thrown) {
          return Promise.reject(thrown);
        }
      };
      this.start(source, start);
    }

    start(source, start) {
      const begun = start?.call(source, this.controller());
      const promise = begun instanceof Promise ? begun : Promise.resolve(begun);
      promise.then(() => {
        this.started = true;
        this.callPull();
      }, (reason) => this.fail(reason));
    }

    // What the functions of the source get, a new one each time.
    controller() {
      const mustBeOpen = () => {
        if (!this.isOpen()) throw new TypeError('cannot close or enqueue');
      };
      const inner = show({}, 'desiredSize', () => this.desired());
      fix(inner, 'close', () => {
        mustBeOpen();
        this.closing = true;
        if (this.queue.length === 0) this.close();
      });
      fix(inner, 'enqueue', (chunk) => {
        mustBeOpen();
        this.enqueue(chunk);
      });
      fix(inner, 'error', (reason) => this.fail(reason));
      return create(inner);
    }

    isOpen() { return !this.closing && this.name === 'readable'; }

    desired() {
      if (this.name === 'errored') return null;
      return this.name === 'closed' ? 0 : this.mark - this.total;
    }

    enqueue(chunk) {
      if (this.reader !== undefined && this.reader.requests.length > 0) {
        this.reader.requests.shift().chunk(chunk);
      } else {
        this.keep(chunk);
      }
      this.callPull();
    }

    keep(chunk) {
      let size;
      try {
        size = Number(this.size.call(undefined, chunk));
      } catch (thrown) {
        this.fail(thrown);
        throw asThrown(thrown);
      }
      if (!(size >= 0 && size < Infinity)) {
        const error = new RangeError('size must be a finite, non-NaN number');
        this.fail(error);
        throw error;
      }
      this.queue.push({ chunk, size });
      this.total += size;
    }

    read(request) {
      if (this.name === 'closed') return request.end();
      if (this.name === 'errored') return request.fail(this.error);
      if (this.queue.length === 0) {
        this.reader.requests.push(request);
        return this.callPull();
      }
      const { chunk, size } = this.queue.shift();
      this.total = Math.max(0, this.total - size);
      if (this.closing && this.queue.length === 0) this.close();
      else this.callPull();
      return request.chunk(chunk);
    }

    shouldPull() {
      if (!this.isOpen() || !this.started) return false;
      return this.reader?.requests.length > 0 || this.desired() > 0;
    }

    callPull() {
      if (!this.shouldPull()) return;
      if (this.pulling) {
        this.again = true;
        return;
      }
      this.pulling = true;
      this.pull(this.controller()).then(() => {
        this.pulling = false;
        if (!this.again) return;
        this.again = false;
        this.callPull();
      }, (reason) => this.fail(reason));
    }

    close() {
      this.name = 'closed';
      if (this.reader === undefined) return;
      this.reader.resolve();
      for (const request of this.reader.requests.splice(0)) request.end();
    }

    fail(reason) {
      if (this.name !== 'readable') return;
      this.name = 'errored';
      this.error = reason;
      [this.queue, this.total] = [[], 0];
      if (this.reader === undefined) return;
      this.reader.reject(reason);
      for (const request of this.reader.requests.splice(0)) request.fail(reason);
    }

    cancel(reason) {
      if (this.name === 'closed') return Promise.resolve();
      if (this.name === 'errored') return Promise.reject(this.error);
      this.close();
      [this.queue, this.total] = [[], 0];
      return this.cancelSource(reason).then(noop, (thrown) => { throw asThrown(thrown); });
    }
  }

  // The end of a stream that reads: its requests, and the promise that it is closed.
  class Reader {
    requests = [];

    constructor(state) {
      if (state.reader !== undefined) throw new TypeError('stream is locked');
      this.state = state;
      state.reader = this;
      this.closed = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
      // No handler is needed.
      this.closed.then(noop, noop);
      if (state.name === 'closed') this.resolve();
      if (state.name === 'errored') this.reject(asThrown(state.error));
    }

    read() {
      return new Promise((resolve, reject) => this.state.read({
        chunk: (value) => resolve({ value, done: false }),
        end: () => resolve({ value: undefined, done: true }),
        fail: reject,
      }));
    }

    release() {
      const { state } = this;
      if (state.name === 'readable') {
        this.reject(new TypeError('stream is readable'));
      } else {
        this.closed = Promise.reject(new TypeError('stream is not readable'));
        this.closed.then(noop, noop);
      }
      [state.reader, this.state] = [undefined, undefined];
      for (const request of this.requests.splice(0)) request.fail(new TypeError('reader released'));
    }
  }

  const readerOf = (state) => {
    const reader = new Reader(state);
    const gone = () => Promise.reject(new TypeError('stream is undefined'));
    const shown = show({}, 'closed', () => reader.closed);
    fix(shown, 'cancel', (reason = null) => reader.state?.cancel(reason) ?? gone());
    fix(shown, 'read', () => (reader.state === undefined ? gone() : reader.read()));
    return fix(shown, 'releaseLock', () => {
      if (reader.state !== undefined) reader.release();
    });
  };

  const openReader = (state, options) => {
    if (!isNone(options) && Object(options) !== options) {
      throw new TypeError(
        `could not convert function call parameter 0: could not convert ${String(options)} to sobek.Object`);
    }
    const mode = options?.mode;
    if (mode === undefined) return readerOf(state);
    if (String(mode) !== 'byob') throw new TypeError("options.mode is not 'byob'");
    return native.fail("NotSupportedError:'byob' mode is not supported yet");
  };

  function ReadableStream(source, given) {
    const strategy = readStrategy(source, given);
    const found = readSource(source);
    const size = sizeOf(strategy);
    const state = new State(source, found, highWaterMarkOf(strategy), size);
    const stream = create((new.target ?? ReadableStream).prototype);
    streams.set(stream, state);
    show(stream, 'locked', () => state.reader !== undefined);
    fix(stream, 'cancel', (reason = null) => (state.reader === undefined
      ? state.cancel(reason) : Promise.reject(new TypeError('cannot cancel a locked stream'))));
    fix(stream, 'getReader', (options) => openReader(state, options));
    return fix(stream, 'tee', () => native.fail("NotSupportedError:'tee()' is not supported yet"));
  }

  function CountQueuingStrategy(...given) {
    if (given.length !== 1) throw new TypeError('CountQueuingStrategy takes a single argument');
    return strategyOf(given[0], one);
  }

  function ReadableStreamDefaultReader(...given) {
    if (given.length !== 1) throw new TypeError('ReadableStreamDefaultReader takes a single argument');
    const state = streams.get(given[0]);
    if (state === undefined) {
      throw new TypeError('ReadableStreamDefaultReader argument must be a ReadableStream');
    }
    return readerOf(state);
  }

  return { CountQueuingStrategy, ReadableStream, ReadableStreamDefaultReader };
}

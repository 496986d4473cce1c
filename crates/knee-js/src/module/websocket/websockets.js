// The sockets of k6/websockets. What happens on a socket is passed to the function that `native.dial` gets. A load can
// have tens of thousands of sockets, so what they have in common is made once, and their handlers when there is one.
(native, { Blob, bytesOf }) => {
  const { create, defineProperty, defineProperties } = Object;
  const EVENTS = ['message', 'error', 'open', 'close', 'ping', 'pong'];
  const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
  const fix = (object, name, value) => defineProperty(object, name, { value, enumerable: true });

  // What `send` takes besides texts.
  const bytesToSend = (data) => {
    const isView = Object.prototype.toString.call(data) !== '[object DataView]';
    const bytes = bytesOf(data) ?? (isView ? native.bytes(data) : undefined);
    if (bytes === undefined) native.fail(`unsupported send type ${native.kind(data)}`);
    return bytes;
  };

  const checkClose = (code, reason) => {
    if (code !== 0 && code !== 1000 && !(code >= 3000 && code <= 4999)) {
      native.fail("InvalidAccessError: Failed to execute 'close' on 'WebSocket': "
        + `The close code must be either 1000, or between 3000 and 4999. ${code} is neither`);
    }
    if (native.utf8(reason).byteLength > 123) {
      native.fail("SyntaxError: Failed to execute 'close' on 'WebSocket': "
        + 'The message must not be greater than 123 bytes');
    }
  };

  // The handlers of an event: the one of `on...`, then those that were added.
  const handlersOf = (state, event) => (state.handlers ??= create(null))[event] ??= { on: undefined, added: undefined };

  const call = (state, type, make) => {
    const { on, added } = state.handlers?.[type] ?? {};
    if (on === undefined && added === undefined) return;
    const event = make();
    if (added === undefined) on.call(undefined, event);
    else for (const handler of on === undefined ? added : [on, ...added]) handler.call(undefined, event);
  };
  const made = (state, type, ...more) => native.event(type, state.socket, native.wall(), ...more);
  const fail = (state, error) => call(state, 'error', () => made(state, 'error', 'error', error));
  const end = (state, error) => {
    if (state.phase === CLOSED) return;
    state.phase = CLOSED;
    if (error !== undefined) fail(state, error);
    const code = state.code === 0 ? [] : ['code', state.code];
    call(state, 'close', () => made(state, 'close', ...code, 'reason', state.reason));
  };
  // As in k6, a handler that throws ends its socket.
  const callOrEnd = (state, type, make) => {
    try {
      call(state, type, make);
    } catch (thrown) {
      state.buffered = native.buffered(state.id) ?? state.buffered;
      native.finish(state.id);
      end(state, String(thrown));
      throw thrown;
    }
  };

  const take = {
    __proto__: null,
    open(state, protocol, extensions) {
      if (state.phase !== CONNECTING) return;
      state.phase = OPEN;
      [state.protocol, state.extensions] = [protocol, extensions];
      callOrEnd(state, 'open', () => made(state, 'open'));
    },
    refused: end,
    message(state, data, isText, at) {
      callOrEnd(state, 'message', () => {
        const shown = !isText && state.binaryType === 'blob' ? new Blob([data]) : data;
        return native.event('message', state.socket, at, 'data', shown, 'origin', state.url);
      });
    },
    ping(state, error) {
      if (error !== undefined) fail(state, error);
      else call(state, 'ping', () => made(state, 'ping'));
    },
    pong(state, unknown) {
      if (unknown !== undefined) native.warn(`received pong for unknown ping ID ${unknown}`);
      call(state, 'pong', () => made(state, 'pong'));
    },
    end(state, code, reason, error, buffered) {
      state.buffered = buffered;
      if (code !== undefined) [state.code, state.reason] = [code, reason];
      end(state, error);
    },
  };

  const checkOpen = (state) => {
    if (state.phase !== OPEN) native.fail('InvalidStateError');
  };
  const close = (state, code, reason) => {
    if (state.phase === CLOSING || state.phase === CLOSED) return;
    const [number, text] = [Math.trunc(Number(code)) || 0, String(reason)];
    checkClose(number, text);
    state.phase = CLOSING;
    state.code = number || 1000;
    native.close(state.id, state.code, text);
  };
  const listen = (state, type, handler) => {
    if (typeof handler !== 'function') {
      native.fail(`handler for event type ${JSON.stringify(String(type))} isn't a callable function`);
    }
    const event = String(type);
    if (EVENTS.includes(event)) (handlersOf(state, event).added ??= []).push(handler);
  };

  // Where the accessors of a socket, which all sockets share, find its state.
  const STATE = Symbol('state');
  const shown = (get, set) => ({ __proto__: null, get, set, enumerable: true });
  const ACCESSORS = {
    __proto__: null,
    readyState: shown(function readyState() { return this[STATE].phase; }),
    bufferedAmount: shown(function bufferedAmount() {
      const state = this[STATE];
      return native.buffered(state.id) ?? state.buffered;
    }),
    extensions: shown(function extensions() { return this[STATE].extensions; }),
    protocol: shown(function protocol() { return this[STATE].protocol; }),
    binaryType: shown(function binaryType() { return this[STATE].binaryType; }, function binaryType(type) {
      if (type !== 'blob' && type !== 'arraybuffer') {
        native.fail(`unknown binaryType ${type}, the supported ones are "blob" and "arraybuffer"`);
      }
      this[STATE].binaryType = type;
    }),
  };
  for (const event of EVENTS) {
    // As in k6, reading it yields a function even if there is no handler.
    const read = function read() {
      const state = this[STATE];
      return () => state.handlers?.[event]?.on;
    };
    ACCESSORS[`on${event}`] = shown(read, function write(handler) {
      const isNone = handler === undefined || handler === null;
      if (!isNone && typeof handler !== 'function') native.fail(`a value for 'on${event}' should be callable`);
      handlersOf(this[STATE], event).on = isNone ? undefined : handler;
    });
  }

  const open = (url, protocols, params) => {
    const socket = {};
    const state = {
      socket,
      id: 0,
      url: '',
      phase: CONNECTING,
      buffered: 0,
      extensions: [],
      protocol: '',
      binaryType: 'blob',
      code: 0,
      reason: '',
      handlers: undefined,
    };
    const deliver = (event, ...values) => take[event](state, ...values);
    [state.id, state.url] = native.dial(url, protocols, params, deliver);
    fix(socket, 'addEventListener', (type, handler) => listen(state, type, handler));
    fix(socket, 'send', (data) => {
      checkOpen(state);
      native.send(state.id, typeof data === 'string' ? data : bytesToSend(data));
    });
    fix(socket, 'ping', () => {
      checkOpen(state);
      native.ping(state.id);
    });
    fix(socket, 'close', (code = 0, reason = '') => close(state, code, reason));
    fix(socket, 'url', state.url);
    defineProperty(socket, STATE, { value: state });
    return defineProperties(socket, ACCESSORS);
  };

  return {
    Blob,
    WebSocket: class WebSocket {
      constructor(url, protocols, params) { return open(url, protocols, params); }
    },
  };
}

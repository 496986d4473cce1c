// The sockets of k6/websockets. What happens on a socket is passed to the function that `native.dial` gets; the states
// and the handlers of the script are kept here.
(native, { Blob, bytesOf }) => {
  const { defineProperty } = Object;
  const EVENTS = ['message', 'error', 'open', 'close', 'ping', 'pong'];
  const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
  const fix = (object, name, value) => defineProperty(object, name, { value, enumerable: true });
  const show = (object, name, get, set) => defineProperty(object, name, { get, set, enumerable: true });

  // The handlers of a socket: for each event the one of `on...`, then those that were added.
  const listeners = () => {
    const all = Object.create(null);
    for (const event of EVENTS) all[event] = { on: undefined, added: [] };
    return all;
  };

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

  const open = (url, protocols, params) => {
    const socket = {};
    const handlers = listeners();
    const shown = { state: CONNECTING, buffered: 0, extensions: [], protocol: '', binaryType: 'blob' };
    let [closeCode, closeReason] = [0, ''];

    const made = (type, at = native.wall()) => {
      const event = {};
      fix(event, 'type', type);
      fix(event, 'target', socket);
      fix(event, 'timestamp', at);
      return event;
    };
    const call = (event) => {
      const { on, added } = handlers[event.type];
      for (const handler of on === undefined ? added : [on, ...added]) handler.call(undefined, event);
    };
    const end = (error) => {
      if (shown.state === CLOSED) return;
      shown.state = CLOSED;
      if (error !== undefined) call(fix(made('error'), 'error', error));
      const event = made('close');
      if (closeCode !== 0) fix(event, 'code', closeCode);
      call(fix(event, 'reason', closeReason));
    };
    // As in k6, a handler that throws ends its socket.
    const callOrEnd = (event) => {
      try {
        call(event);
      } catch (thrown) {
        native.finish(id);
        end(String(thrown));
        throw thrown;
      }
    };
    const take = {
      open(protocol, extensions) {
        if (shown.state !== CONNECTING) return;
        shown.state = OPEN;
        [shown.protocol, shown.extensions] = [protocol, extensions];
        callOrEnd(made('open'));
      },
      refused(error) { end(error); },
      message(data, isText, at) {
        const event = made('message', at);
        const isBlob = !isText && shown.binaryType === 'blob';
        fix(event, 'data', isBlob ? new Blob([data]) : data);
        callOrEnd(fix(event, 'origin', address));
      },
      ping(error) {
        if (error !== undefined) call(fix(made('error'), 'error', error));
        else call(made('ping'));
      },
      pong(unknown) {
        if (unknown !== undefined) native.warn(`received pong for unknown ping ID ${unknown}`);
        call(made('pong'));
      },
      written(bytes) { shown.buffered -= bytes; },
      end(code, reason, error) {
        if (code !== undefined) [closeCode, closeReason] = [code, reason];
        end(error);
      },
    };
    const deliver = ([event, ...values]) => take[event](...values);

    const [id, address] = native.dial(url, protocols, params, deliver);
    const mustBeOpen = () => {
      if (shown.state !== OPEN) native.fail('InvalidStateError');
    };
    fix(socket, 'addEventListener', (type, handler) => {
      if (typeof handler !== 'function') {
        native.fail(`handler for event type ${JSON.stringify(String(type))} isn't a callable function`);
      }
      const known = handlers[type];
      if (known !== undefined) known.added.push(handler);
    });
    fix(socket, 'send', (data) => {
      mustBeOpen();
      const isText = typeof data === 'string';
      const payload = isText ? data : bytesToSend(data);
      shown.buffered += isText ? native.utf8(data).byteLength : payload.byteLength;
      native.send(id, payload);
    });
    fix(socket, 'ping', () => {
      mustBeOpen();
      native.ping(id);
    });
    fix(socket, 'close', (code = 0, reason = '') => {
      if (shown.state === CLOSING || shown.state === CLOSED) return;
      const [number, text] = [Math.trunc(Number(code)) || 0, String(reason)];
      checkClose(number, text);
      shown.state = CLOSING;
      closeCode = number || 1000;
      native.close(id, closeCode, text);
    });
    fix(socket, 'url', address);
    show(socket, 'readyState', () => shown.state);
    show(socket, 'bufferedAmount', () => shown.buffered);
    show(socket, 'extensions', () => shown.extensions);
    show(socket, 'protocol', () => shown.protocol);
    show(socket, 'binaryType', () => shown.binaryType, (type) => {
      if (type !== 'blob' && type !== 'arraybuffer') {
        native.fail(`unknown binaryType ${type}, the supported ones are "blob" and "arraybuffer"`);
      }
      shown.binaryType = type;
    });
    for (const event of EVENTS) {
      // As in k6, reading it yields a function even if there is no handler.
      show(socket, `on${event}`, () => () => handlers[event].on, (handler) => {
        const isNone = handler === undefined || handler === null;
        if (!isNone && typeof handler !== 'function') native.fail(`a value for 'on${event}' should be callable`);
        handlers[event].on = isNone ? undefined : handler;
      });
    }
    return socket;
  };

  return {
    Blob,
    WebSocket: class WebSocket {
      constructor(url, protocols, params) { return open(url, protocols, params); }
    },
  };
}

// The streams of k6/net/grpc. What happens on a stream is passed to the function that `native.open` gets; the handlers
// of the script are kept here.
(native) => {
  const { defineProperty } = Object;
  const EVENTS = ['data', 'error', 'end', 'status'];
  const show = (object, name, value) => defineProperty(object, name, { value, enumerable: true });

  const open = (client, method, params) => {
    const stream = {};
    const handlers = Object.create(null);
    for (const event of EVENTS) handlers[event] = [];
    const path = String(method).startsWith('/') ? String(method) : `/${method}`;
    let isOpen = true;
    let isWriting = true;

    const fire = (event, value) => {
      const at = { ts: native.seconds() };
      for (const handler of handlers[event]) handler.call(undefined, value, at);
    };
    const fail = (error, words) => {
      if (handlers.error.length === 0) {
        native.warnOf(path, `no handlers for error registered, but an error happened: ${words}`);
      }
      error.error = () => `code: ${error.code}, message: ${error.message}`;
      fire('error', error);
    };
    const take = {
      data(value) {
        if (!isOpen) return;
        try {
          fire('data', value);
        } catch (thrown) {
          // As in k6, a handler that throws ends its stream.
          isOpen = false;
          native.drop(id);
          fail({ code: 2, details: [], message: String(thrown) }, String(thrown));
          fire('end', {});
          throw thrown;
        }
      },
      error: fail,
      end() {
        isOpen = false;
        fire('end', {});
      },
    };
    const deliver = ([event, value, words]) => take[event](value, words);

    const id = native.open(client, method, params, deliver);
    show(stream, 'on', (event, handler) => {
      if (handler === undefined || handler === null) {
        native.fail(`handler for ${JSON.stringify(String(event))} event isn't a callable function`);
      }
      if (typeof handler !== 'function') {
        throw new TypeError('could not convert function call parameter 1: could not convert '
          + `${String(handler)} to func(sobek.Value, sobek.Value) (sobek.Value, error)`);
      }
      const known = handlers[event];
      if (known !== undefined) known.push(handler);
      else native.warn(`can't register ${event} event handler: unknown GRPC stream's event type: ${event}`);
    });
    show(stream, 'write', (value) => {
      if (!isWriting || !isOpen) return;
      if (value === null || value === undefined) {
        native.warnOf(path, "can't send empty message");
        return;
      }
      native.write(id, value);
    });
    show(stream, 'end', () => {
      if (!isWriting) return;
      isWriting = false;
      native.end(id);
    });
    return stream;
  };

  return class Stream {
    constructor(client, method, params) { return open(client, method, params); }
  };
}

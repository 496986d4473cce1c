// `open` of k6/x/sse. It waits for its stream in `native.hear`, so nothing else of the script runs meanwhile.
(native) => {
  // What handlers of `error` get.
  const problem = (text) => Object.defineProperty({ error: () => text }, 'toString', { value: () => text });

  const serve = (id, run) => {
    const handlers = Object.create(null);
    let over = false;

    const fire = (event, ...values) => {
      for (const handler of [...handlers[event] ?? []]) handler.call(undefined, ...values);
    };
    const client = {
      close() {
        over = true;
        native.close(id);
      },
      on(event, handler) {
        if (typeof handler === 'function') (handlers[event] ??= []).push(handler);
      },
    };
    const take = {
      event: (value) => fire('event', value),
      wrong: (text) => fire('error', problem(text)),
      end() { over = true; },
    };

    run.call(undefined, client);
    fire('open');
    while (!over) {
      const [name, value] = native.hear(id);
      take[name](value);
    }
  };

  return function open(url, ...given) {
    native.begin();
    if (given.length !== 1 && given.length !== 2) native.fail('invalid number of arguments to sse.open');
    const run = given[given.length - 1];
    if (typeof run !== 'function') native.fail('last argument to sse.open must be a function');
    const id = native.open(url, given.length === 2 ? given[0] : undefined);
    try {
      const [event, value, error] = native.hear(id);
      if (event === 'refused') {
        if (native.throws()) native.fail(error);
        return value;
      }
      value.url = String(url);
      serve(id, run);
      return value;
    } finally {
      native.finish(id);
    }
  };
}

// `connect` of k6/ws. It waits for its socket in `native.hear`, so nothing else of the script runs meanwhile.
(native) => {
  const { defineProperty } = Object;

  // What handlers of `error` get.
  const problem = (text, close) => {
    const error = close ?? {};
    error.error = () => text;
    return defineProperty(error, 'toString', { value: () => text });
  };

  // Timers of one socket, which run only while its script waits for it.
  class Timers {
    #all = [];

    add(name, act, delay, isRepeated) {
      const span = Number(delay);
      if (!(span > 0)) {
        const shown = Number.isFinite(span) ? span.toFixed(2) : '0.00';
        native.fail(`${name} requires a >0 timeout parameter, received ${shown}`);
      }
      this.#all.push({ act, at: native.now() + span, every: isRepeated ? span : undefined });
    }

    first() {
      let first;
      for (const timer of this.#all) if (first === undefined || timer.at < first.at) first = timer;
      return first;
    }

    // Takes the timer that is due, if one is.
    due() {
      const first = this.first();
      const now = native.now();
      if (first === undefined || first.at > now) return undefined;
      if (first.every === undefined) this.#all.splice(this.#all.indexOf(first), 1);
      else first.at = Math.max(first.at + first.every, now);
      return first.act;
    }
  }

  const callable = (value) => {
    if (typeof value === 'function' || value === undefined) return value;
    throw new TypeError(
      `could not convert function call parameter 0: could not convert ${String(value)} to sobek.Callable`);
  };

  const nameOf = (value) => value === null || value === undefined ? String(value) : value.constructor?.name;

  const serve = (id, run) => {
    const handlers = Object.create(null);
    const timers = new Timers();
    let over = false;

    const fire = (event, ...values) => {
      const added = handlers[event];
      if (added !== undefined) for (const handler of added) handler.call(undefined, ...values);
    };
    const report = (text) => {
      if (text !== undefined) fire('error', problem(text));
    };
    const shut = (code) => {
      if (over) return;
      over = true;
      try {
        report(native.close(id, code));
        fire('close', code);
      } finally {
        native.drop(id);
      }
    };
    const socket = {
      close(...given) { shut(given.length > 0 ? Math.trunc(Number(given[0])) || 0 : 1001); },
      on(event, handler) {
        if (typeof handler === 'function') (handlers[event] ??= []).push(handler);
      },
      ping() { report(native.ping(id)); },
      send(...given) { report(native.send(id, given.length > 0 ? String(given[0]) : '')); },
      sendBinary(...given) {
        if (given.length === 0) native.fail('missing argument, expected ArrayBuffer');
        const [data] = given;
        if (nameOf(data) !== 'ArrayBuffer') {
          native.fail(`expected ArrayBuffer as argument, received: ${nameOf(data)}`);
        }
        report(native.send(id, data));
      },
      setInterval(act, delay) { timers.add('setInterval', callable(act), delay, true); },
      setTimeout(act, delay) { timers.add('setTimeout', callable(act), delay, false); },
    };
    const take = (happened) => {
      const event = happened[0];
      if (event === 'message') fire(happened[2] ? 'message' : 'binaryMessage', happened[1]);
      else if (event === 'ping') report(happened[1]);
      if (event === 'ping' || event === 'pong') fire(event);
      if (event === 'end') {
        const [, code, text, error] = happened;
        if (error !== undefined) fire('error', problem(error, { code, text }));
        shut(code ?? 1001);
      }
    };

    try {
      run.call(undefined, socket);
      fire('open');
      while (!over) {
        const act = timers.due();
        if (act !== undefined) {
          act.call(undefined);
          continue;
        }
        const event = native.hear(id, timers.first()?.at);
        if (event !== undefined) take(event);
      }
    } catch (thrown) {
      shut(1001);
      throw thrown;
    }
  };

  return function connect(url, ...given) {
    native.begin();
    if (given.length !== 1 && given.length !== 2) native.fail('invalid number of arguments to ws.connect');
    const run = given[given.length - 1];
    if (typeof run !== 'function') native.fail('last argument to ws.connect must be a function');
    const [id] = native.dial(url, undefined, given.length === 2 ? given[0] : undefined);
    try {
      const [event, ...values] = native.hear(id);
      if (event === 'refused') {
        const [error, response] = values;
        if (native.throws()) native.fail(error);
        return response;
      }
      const response = values[2];
      response.url = String(url);
      serve(id, run);
      return response;
    } finally {
      native.finish(id);
    }
  };
}

// `Blob` of k6/websockets: bytes that do not change. `bytesOf` returns them, or undefined for anything else.
(native) => {
  const { defineProperty } = Object;
  // Bytes that a stream yields at a time.
  const PART = 1024;
  const join = (parts) => {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
    let place = 0;
    for (const part of parts) {
      whole.set(new Uint8Array(part), place);
      place += part.byteLength;
    }
    return whole.buffer;
  };
  // As in k6, a stream of texts, of which the last one is empty.
  const streamOf = (whole) => {
    const { ReadableStream } = native.streams();
    let place = 0;
    return new ReadableStream({
      pull(controller) {
        const part = whole.slice(place, place + PART);
        place += part.byteLength;
        controller.enqueue(native.text(part));
        if (part.byteLength === 0) controller.close();
      },
    });
  };
  let bytesOf;

  class Blob {
    #bytes;

    static {
      bytesOf = (value) => typeof value === 'object' && value !== null && #bytes in value ? value.#bytes : undefined;
    }

    constructor(parts = [], options) {
      if (!Array.isArray(parts)) native.fail('failed to process [blobParts]: it must be an array');
      this.#bytes = join(parts.map((part) => {
        const bytes = typeof part === 'string' ? native.utf8(part) : bytesOf(part) ?? native.bytes(part);
        if (bytes === undefined) {
          native.fail(`failed to process [blobParts]: unsupported type: ${native.kind(part)}`);
        }
        return bytes;
      }));
      if (options !== undefined && (typeof options !== 'object' || options === null)) {
        native.fail('[options] must be an object');
      }
      const type = options?.type === undefined ? '' : String(options.type);
      const whole = this.#bytes;
      const show = (name, value) => defineProperty(this, name, { value, enumerable: true });
      const method = (name, value) =>
        defineProperty(this, name, { value, enumerable: true, writable: true, configurable: true });
      show('size', whole.byteLength);
      show('type', type);
      method('arrayBuffer', () => Promise.resolve(whole.slice(0)));
      method('bytes', () => Promise.resolve(new Uint8Array(whole.slice(0))));
      method('slice', (from = 0, to = whole.byteLength, kind = '') => new Blob([whole.slice(from, to)], { type: kind }));
      method('text', () => Promise.resolve(native.text(whole)));
      method('stream', () => streamOf(whole));
    }

    toString() { return '[object Blob]'; }
  }

  return { Blob, bytesOf };
}

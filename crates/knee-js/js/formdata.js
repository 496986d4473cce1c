// knee's own answer to https://jslib.k6.io/formdata: multipart bodies out of fields and files.
//
// Written from the documented interface; it contains nothing of the original.

// UTF-8 of a text.
function bytesOf(text) {
  const encoded = unescape(encodeURIComponent(text));
  return Uint8Array.from(Array.from(encoded, (letter) => letter.charCodeAt(0)));
}

// Bytes of what a field can hold: text, a buffer, a view, an array of numbers.
function contentOf(data) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return Array.isArray(data) ? Uint8Array.from(data) : bytesOf(String(data));
}

export class FormData {
  constructor() {
    const digits = Array.from({ length: 24 }, () => Math.floor(Math.random() * 36).toString(36));
    this.boundary = `----knee-form-${digits.join('')}`;
    this.parts = [];
  }

  // A field; a value with `data` is a file: `{ data, filename, content_type }`, or what http.file() returns.
  append(field, value, filename) {
    const isFile = value !== null && typeof value === 'object' && value.data !== undefined;
    const part = isFile ? { ...value } : { data: value, content_type: 'text/plain' };
    if (filename !== undefined) part.filename = filename;
    this.parts.push({ field: String(field), part });
  }

  // The whole body, as an ArrayBuffer.
  body() {
    const pieces = [];
    for (const { field, part } of this.parts) {
      const name = part.filename === undefined || part.filename === '' ? '' : `; filename="${part.filename}"`;
      const type = part.content_type || 'application/octet-stream';
      const head = `Content-Disposition: form-data; name="${field}"${name}\r\nContent-Type: ${type}\r\n\r\n`;
      pieces.push(bytesOf(`--${this.boundary}\r\n${head}`), contentOf(part.data), bytesOf('\r\n'));
    }
    pieces.push(bytesOf(`--${this.boundary}--\r\n`));
    const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole.buffer;
  }
}

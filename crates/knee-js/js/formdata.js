// knee's own answer to https://jslib.k6.io/formdata: multipart bodies out of fields and files.
//
// Written from the documented interface and from what the original was seen to do; it contains nothing of it. As there,
// texts are bytes: letters above 255 lose their upper half, so a script must encode such text itself.

// Bytes of what a field can hold: text, a buffer or view, an array of numbers. Other values have none.
function bytesOf(data) {
  if (typeof data === 'string') return Array.from({ length: data.length }, (_, at) => data.charCodeAt(at) & 0xff);
  if (Array.isArray(data)) return data;
  if (!data || !data.byteLength) return [];
  const view = 'byteOffset' in data ? data : new Uint8Array(data);
  return Array.from({ length: view.byteLength }, (_, at) => view[at] & 0xff);
}

// Can be called without `new`, too.
export function FormData() {
  if (!(this instanceof FormData)) return new FormData();
  this.boundary = `------knee-form-data-${Math.random().toString(36)}`;
  this.parts = [];
}

// A field: a text, or a file as http.file() returns it: `{ data, filename, content_type }`.
FormData.prototype.append = function append(field, data) {
  if (arguments.length < 2) throw new SyntaxError('Not enough arguments');
  const file = typeof data === 'string' ? { data, content_type: 'text/plain' } : data;
  this.parts.push({ field, file });
};

// The whole body, as an ArrayBuffer.
FormData.prototype.body = function body() {
  const pieces = [];
  for (const { field, file } of this.parts) {
    const name = file.filename ? `; filename="${file.filename.replace(/"/g, '%22')}"` : '';
    const type = file.content_type || 'application/octet-stream';
    const head = `Content-Disposition: form-data; name="${field}"${name}\r\nContent-Type: ${type}\r\n\r\n`;
    pieces.push(bytesOf(`--${this.boundary}\r\n`), bytesOf(head), bytesOf(file.data), bytesOf('\r\n'));
  }
  pieces.push(bytesOf(`--${this.boundary}--\r\n`));
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole.buffer;
};

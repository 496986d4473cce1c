// knee's own answer to https://jslib.k6.io/url: URL and URLSearchParams.
//
// Written from the URL standard as browsers document it; it contains nothing of the original. Names of hosts
// beyond ASCII are kept as they are.

const DEFAULT_PORTS = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21' };
const isSpecial = (protocol) => protocol in DEFAULT_PORTS || protocol === 'file:';

// ---- percent encoding ----------------------------------------------------------------------------------------

// Encodes what `keep` does not match and leaves what is encoded already.
function encode(text, keep) {
  return Array.from(text)
    .map((letter) => (keep.test(letter) ? letter : encodeURIComponent(letter).replace(/^[^%]$/, percent)))
    .join('');
}

const percent = (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

const KEEP = {
  path: /[A-Za-z0-9\-._~!$&'()*+,;=:@%/[\]\\|^]/,
  query: /[A-Za-z0-9\-._~!$&()*+,;=:@%/?[\]\\|^`{}]/,
  fragment: /[A-Za-z0-9\-._~!$&'()*+,;=:@%/?[\]\\|^{}#]/,
  user: /[A-Za-z0-9\-._~!$&'()*+,%]/,
};

const decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    return text;
  }
};

const decodeForm = (text) => decode(text.replace(/\+/g, ' '));
const encodeForm = (text) =>
  encodeURIComponent(text)
    .replace(/[!'()~]/g, percent)
    .replace(/%20/g, '+');

// ---- URLSearchParams -----------------------------------------------------------------------------------------

function pairsOf(source) {
  if (source === undefined || source === null) return [];
  if (typeof source === 'object') {
    if (typeof source[Symbol.iterator] === 'function') {
      return Array.from(source, (pair) => {
        const both = Array.from(pair);
        if (both.length !== 2) throw new TypeError('a pair of a name and a value is expected');
        return [String(both[0]), String(both[1])];
      });
    }
    return Object.keys(source).map((name) => [name, String(source[name])]);
  }
  const parts = String(source).replace(/^\?/, '').split('&').filter((part) => part !== '');
  return parts.map((part) => {
    const equals = part.indexOf('=');
    const [name, value] = equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
    return [decodeForm(name), decodeForm(value)];
  });
}

export class URLSearchParams {
  #pairs;
  #changed = () => {};

  constructor(source) {
    this.#pairs = pairsOf(source);
  }

  // The parameters of a URL, which follows when they change.
  static _of(query, changed) {
    const params = new URLSearchParams(query);
    params.#changed = changed;
    return params;
  }

  append(name, value) {
    this.#pairs.push([String(name), String(value)]);
    this.#changed();
  }

  delete(name, value) {
    this.#pairs = this.#pairs.filter(
      (pair) => pair[0] !== String(name) || (value !== undefined && pair[1] !== String(value)),
    );
    this.#changed();
  }

  get(name) {
    const found = this.#pairs.find((pair) => pair[0] === String(name));
    return found === undefined ? null : found[1];
  }

  getAll(name) {
    return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]);
  }

  has(name, value) {
    return this.#pairs.some(
      (pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value)),
    );
  }

  set(name, value) {
    const first = this.#pairs.findIndex((pair) => pair[0] === String(name));
    if (first < 0) {
      this.append(name, value);
      return;
    }
    this.#pairs[first][1] = String(value);
    this.#pairs = this.#pairs.filter((pair, at) => at <= first || pair[0] !== String(name));
    this.#changed();
  }

  sort() {
    this.#pairs.sort((one, other) => (one[0] < other[0] ? -1 : Number(one[0] > other[0])));
    this.#changed();
  }

  forEach(callback, self) {
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
  }

  *entries() {
    for (const pair of this.#pairs) yield [...pair];
  }

  *keys() {
    for (const pair of this.#pairs) yield pair[0];
  }

  *values() {
    for (const pair of this.#pairs) yield pair[1];
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  get size() {
    return this.#pairs.length;
  }

  toString() {
    return this.#pairs.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join('&');
  }
}

// ---- URL -----------------------------------------------------------------------------------------------------

function withoutDots(path) {
  const steps = [];
  const parts = path.split('/');
  parts.forEach((part, at) => {
    const last = at === parts.length - 1;
    const plain = part.replace(/%2e/gi, '.');
    if (plain === '..') {
      if (steps.length > 1) steps.pop();
      if (last) steps.push('');
    } else if (plain === '.') {
      if (last) steps.push('');
    } else {
      steps.push(part);
    }
  });
  return steps.join('/');
}

// Why a text is no URL, in the words of the original.
const refuse = (what) => ({ refused: `Invalid ${what}` });

// host, port: `[::1]:8080`, `example.com`.
function hostOf(text, protocol) {
  const [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text) || [];
  if (name === undefined || (name === '' && protocol !== 'file:')) return refuse('host');
  if (!/^\d*$/.test(port || '') || Number(port || 0) > 65535) return refuse('port');
  const shown = port ? String(Number(port)) : '';
  return { hostname: name.toLowerCase(), port: shown === DEFAULT_PORTS[protocol] ? '' : shown };
}

const split = (text, mark) => {
  const at = text.indexOf(mark);
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at)];
};

// The parts of an absolute URL, or `{ refused }` if it is none.
function parse(text) {
  const [, scheme, rest] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) || [];
  if (scheme === undefined) return refuse('scheme');
  const protocol = `${scheme.toLowerCase()}:`;
  const [beforeHash, hash] = split(rest, '#');
  const [beforeQuery, search] = split(beforeHash, '?');
  const parts = { protocol, username: '', password: '', hostname: '', port: '', hash: '', search: '' };
  if (hash !== null && hash !== '#') parts.hash = `#${encode(hash.slice(1), KEEP.fragment)}`;
  if (search !== null && search !== '?') parts.search = `?${encode(search.slice(1), KEEP.query)}`;
  const slashes = isSpecial(protocol) ? beforeQuery.replace(/\\/g, '/') : beforeQuery;
  if (!isSpecial(protocol) && !slashes.startsWith('//')) return { ...parts, opaque: true, pathname: slashes };
  const lead = protocol === 'file:' ? /^\/{0,2}/ : /^\/*/;
  const [, authority, path] = /^([^/]*)(.*)$/s.exec(slashes.replace(lead, ''));
  const at = authority.lastIndexOf('@');
  if (at >= 0) {
    const [user, password] = split(authority.slice(0, at), ':');
    parts.username = encode(user, KEEP.user);
    parts.password = password === null ? '' : encode(password.slice(1), KEEP.user);
  }
  const host = hostOf(authority.slice(at + 1), protocol);
  if (host.refused) return host;
  return { ...parts, ...host, pathname: withoutDots(encode(path || '/', KEEP.path)) };
}

// The absolute text that `text` means beside `base`.
function join(text, base) {
  const origin = `${base.protocol}//${base.userinfo}${base.host}`;
  if (/^[\\/]{2}/.test(text)) return base.protocol + text;
  if (/^[\\/]/.test(text)) return origin + text;
  if (text === '') return origin + base.pathname + base.search;
  if (text[0] === '?') return origin + base.pathname + text;
  if (text[0] === '#') return origin + base.pathname + base.search + text;
  return `${origin}${base.pathname.slice(0, base.pathname.lastIndexOf('/') + 1)}${text}`;
}

export class URL {
  #parts;
  #params;

  constructor(text, base) {
    const trimmed = String(text).replace(/^[\s\x00-\x1f]+|[\s\x00-\x1f]+$/g, '').replace(/[\t\n\r]/g, '');
    let parts = parse(trimmed);
    if (parts.refused === 'Invalid scheme' && base !== undefined) {
      const beside = new URL(base);
      parts = beside.#parts.opaque ? parts : parse(join(trimmed, beside.#base()));
    }
    if (parts.refused) throw new TypeError(parts.refused);
    this.#parts = parts;
    this.#listen();
  }

  #base() {
    return { ...this.#parts, userinfo: this.#userinfo(), host: this.host };
  }

  #listen() {
    this.#params = URLSearchParams._of(this.#parts.search, () => {
      const query = this.#params.toString();
      this.#parts.search = query === '' ? '' : `?${query}`;
    });
  }

  #userinfo() {
    const { username, password } = this.#parts;
    if (username === '' && password === '') return '';
    return `${username}${password === '' ? '' : `:${password}`}@`;
  }

  // Takes a text that is a URL when the change is one.
  #change(changes) {
    const parts = parse(this.#write({ ...this.#parts, ...changes }));
    if (!parts.refused) {
      this.#parts = parts;
      this.#listen();
    }
  }

  #write({ protocol, hostname, port, pathname, search, hash, opaque }) {
    const userinfo = this.#userinfo();
    const host = `${hostname}${port === '' ? '' : `:${port}`}`;
    return `${protocol}${opaque ? '' : `//${userinfo}${host}`}${pathname}${search}${hash}`;
  }

  get href() {
    return this.#write(this.#parts);
  }

  set href(text) {
    const other = new URL(text);
    this.#parts = other.#parts;
    this.#listen();
  }

  get origin() {
    return DEFAULT_PORTS[this.protocol] === undefined ? 'null' : `${this.protocol}//${this.host}`;
  }

  get protocol() {
    return this.#parts.protocol;
  }

  set protocol(value) {
    this.#change({ protocol: `${String(value).split(':')[0]}:` });
  }

  get username() {
    return this.#parts.username;
  }

  set username(value) {
    this.#parts.username = encode(String(value), KEEP.user);
  }

  get password() {
    return this.#parts.password;
  }

  set password(value) {
    this.#parts.password = encode(String(value), KEEP.user);
  }

  get host() {
    const { hostname, port } = this.#parts;
    return port === '' ? hostname : `${hostname}:${port}`;
  }

  set host(value) {
    const host = hostOf(String(value), this.protocol);
    if (!host.refused) this.#change({ hostname: host.hostname, port: host.port || this.#parts.port });
  }

  get hostname() {
    return this.#parts.hostname;
  }

  set hostname(value) {
    const host = hostOf(String(value), this.protocol);
    if (!host.refused) this.#change({ hostname: host.hostname });
  }

  get port() {
    return this.#parts.port;
  }

  set port(value) {
    this.#change({ port: String(value) });
  }

  get pathname() {
    return this.#parts.pathname;
  }

  set pathname(value) {
    const text = String(value).replace(/[?#]/g, percent);
    this.#change({ pathname: text.startsWith('/') ? text : `/${text}` });
  }

  get search() {
    return this.#parts.search;
  }

  set search(value) {
    const text = String(value).replace(/^\?/, '').replace(/#/g, percent);
    this.#change({ search: text === '' ? '' : `?${text}` });
  }

  get searchParams() {
    return this.#params;
  }

  get hash() {
    return this.#parts.hash;
  }

  set hash(value) {
    const text = String(value).replace(/^#/, '');
    this.#change({ hash: text === '' ? '' : `#${text}` });
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }
}

// The library fills in what the script's engine lacks, so scripts use both without importing them.
globalThis.URL ??= URL;
globalThis.URLSearchParams ??= URLSearchParams;

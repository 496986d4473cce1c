// knee's own answer to https://jslib.k6.io/httpx: a session with a base URL, headers and tags of its own.
//
// Written from the documented interface and from what the original was seen to do; it contains nothing of it. All
// releases have the methods of 0.1.0.

import http from 'k6/http';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];

// What http.url`…` gives.
const isTemplate = (url) => typeof url === 'object' && ['name', 'url', 'clean_url'].every((key) => key in url);

// Parameters with others over them; headers and tags go together.
function joined(first, second) {
  const [own, given] = [first || {}, second || {}];
  return {
    ...own,
    ...given,
    headers: { ...own.headers, ...given.headers },
    tags: { ...own.tags, ...given.tags },
  };
}

// A request for batch() or execute(). The parameters can have a body, which is taken out of them.
export class Request {
  constructor(method, url, given) {
    const params = given || {};
    this.method = method;
    this.url = url;
    this.body = params.body || null;
    delete params.body;
    this.params = params;
    if (isTemplate(url)) {
      this.url = url.url;
      this.addTag('name', url.name);
    }
  }

  addHeader(name, value) {
    this.params.headers = { ...this.params.headers, [name]: value };
    return this;
  }

  addTag(name, value) {
    this.params.tags = { ...this.params.tags, [name]: value };
    return this;
  }
}

// `new Get(url, params)`.
const verb = (method) =>
  class extends Request {
    constructor(url, params) {
      super(method, url, params);
    }
  };

export const Get = verb('GET');
export const Head = verb('HEAD');
export const Post = verb('POST');
export const Put = verb('PUT');
export const Delete = verb('DELETE');
export const Connect = verb('CONNECT');
export const Options = verb('OPTIONS');
export const Trace = verb('TRACE');
export const Patch = verb('PATCH');

const isFine = (response) => response.status >= 200 && response.status <= 399;
// Options that are no parameters of requests. They are taken out of the object that the script gives.
const OWN_OPTIONS = ['baseURL', 'errorMetricCondition', 'headers', 'tags', 'errorMetric'];

export class Httpx {
  constructor(options = {}) {
    const { baseURL = '', errorMetricCondition = isFine, errorMetric = null, headers = {}, tags = {} } = options;
    OWN_OPTIONS.forEach((name) => delete options[name]);
    this.k6params = { headers, tags, ...options };
    this.baseURL = baseURL;
    this.lastRequest = { responseObject: null, responseChainDuration: null };
    this.errorMetric = errorMetric;
    this.errorMetricCondition = errorMetricCondition;
  }

  // Milliseconds that the last request took with all its redirects, or the last batch.
  get lastRequestChainDuration() {
    return this.lastRequest.responseChainDuration;
  }

  setBaseUrl(url) {
    this.baseURL = url;
  }

  addHeader(name, value) {
    this.addHeaders({ [name]: value });
  }

  addHeaders(headers) {
    Object.assign(this.k6params.headers, headers);
  }

  clearHeader(name) {
    delete this.k6params.headers[name];
  }

  addTag(name, value) {
    this.addTags({ [name]: value });
  }

  addTags(tags) {
    Object.assign(this.k6params.tags, tags);
  }

  clearTag(name) {
    delete this.k6params.tags[name];
  }

  // The URL and parameters to send. Throws for methods that do not exist.
  _prepare([method, url, , given]) {
    if (!METHODS.includes(method)) throw new Error(`Invalid method: ${method}. Expected one of ${METHODS}`);
    const params = joined(this.k6params, given);
    if (isTemplate(url)) params.tags.name = url.name;
    const address = isTemplate(url) ? url.url : url;
    return { address: address.startsWith('http') ? address : this.baseURL + address, params };
  }

  _keep(response, begin) {
    this.lastRequest.responseObject = response;
    this.lastRequest.responseChainDuration = Date.now() - begin;
    return response;
  }

  // Sends a Request.
  execute(request) {
    return this.request(request.method, request.url, request.body, request.params);
  }

  request(...given) {
    needArguments('request', given);
    const { address, params } = this._prepare(given);
    const begin = Date.now();
    const response = http.request(given[0], address, given[2], params);
    if (this.errorMetric) this.errorMetric.add(!(params.expect || this.errorMetricCondition)(response));
    return this._keep(response, begin);
  }

  asyncRequest(...given) {
    needArguments('asyncRequest', given);
    const { address, params } = this._prepare(given);
    return http.asyncRequest(given[0], address, given[2], params);
  }

  // Requests side by side, all below the base URL; `shared` are parameters for all of them. Each is a Request or
  // [method, url, body, params]; others do not count.
  batch(requests, shared) {
    const sent = [];
    requests.forEach((request) => {
      const isList = Array.isArray(request);
      if (!isList && !(request instanceof Request)) return;
      const [method, url, body, params] = isList
        ? request
        : [request.method, request.url, request.body, request.params];
      sent.push([method, this.baseURL + url, body || null, joined(this.k6params, joined(shared, params))]);
    });
    const begin = Date.now();
    return this._keep(http.batch(sent), begin);
  }
}

function needArguments(name, given) {
  if (given.length >= 2) return;
  throw new Error(`Invalid number of arguments for ${name}(). Provide at least Method and URL.`);
}

for (const method of METHODS) {
  const name = method.toLowerCase();
  const asyncName = `async${method[0]}${name.slice(1)}`;
  Httpx.prototype[name] = function send(url, body, params) {
    return this.request(method, url, body, params);
  };
  Httpx.prototype[asyncName] = function begin(url, body, params) {
    return this.asyncRequest(method, url, body, params);
  };
}

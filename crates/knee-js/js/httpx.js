// knee's own answer to https://jslib.k6.io/httpx: a session with a base URL, headers and tags of its own.
//
// Written from the documented interface; it contains nothing of the original.

import http from 'k6/http';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];

function joined(own, given) {
  const params = given || {};
  return {
    ...own,
    ...params,
    headers: { ...own.headers, ...params.headers },
    tags: { ...own.tags, ...params.tags },
  };
}

// A request for Httpx.batch().
export class Request {
  constructor(method, url, body, params) {
    this.method = String(method).toUpperCase();
    this.url = url;
    this.body = body;
    this.params = params || {};
  }
}

// `new Get(url, params)`, or with a body: `new Post(url, body, params)`.
const verb = (method) =>
  class extends Request {
    constructor(url, first, second) {
      const onlyParams = second === undefined && first !== null && typeof first === 'object';
      super(method, url, onlyParams ? null : first, onlyParams ? first : second);
    }
  };

export const Get = verb('GET');
export const Head = verb('HEAD');
export const Connect = verb('CONNECT');
export const Trace = verb('TRACE');
export const Options = verb('OPTIONS');
export const Post = verb('POST');
export const Put = verb('PUT');
export const Patch = verb('PATCH');
export const Delete = verb('DELETE');

export class Httpx {
  constructor({ baseURL = '', headers = {}, tags = {}, ...others } = {}) {
    this.baseURL = baseURL;
    this.k6params = { ...others, headers: { ...headers }, tags: { ...tags } };
  }

  setBaseUrl(url) {
    this.baseURL = url;
  }

  addHeader(name, value) {
    this.k6params.headers[name] = value;
  }

  addHeaders(headers) {
    Object.assign(this.k6params.headers, headers);
  }

  clearHeader(name) {
    delete this.k6params.headers[name];
  }

  addTag(name, value) {
    this.k6params.tags[name] = value;
  }

  addTags(tags) {
    Object.assign(this.k6params.tags, tags);
  }

  clearTag(name) {
    delete this.k6params.tags[name];
  }

  // The URL with the base before it, unless it has a scheme of its own.
  urlOf(url) {
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(String(url)) ? url : `${this.baseURL}${url}`;
  }

  request(method, url, body, params) {
    return http.request(method, this.urlOf(url), body, joined(this.k6params, params));
  }

  asyncRequest(method, url, body, params) {
    return http.asyncRequest(method, this.urlOf(url), body, joined(this.k6params, params));
  }

  // Requests side by side; `params` are for all of them. Each is a Request, or [method, url, body, params].
  batch(requests, params) {
    const of = (request) => {
      const [method, url, body, own] = Array.isArray(request)
        ? request
        : [request.method, request.url, request.body, request.params];
      return [method, this.urlOf(url), body, joined(joined(this.k6params, params), own)];
    };
    return http.batch(requests.map(of));
  }
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

export default { Httpx, Request, Get, Head, Connect, Trace, Options, Post, Put, Patch, Delete };

// row: globals.absent
export default function () {
  for (const name of ['fetch', 'URL', 'URLSearchParams', 'AbortController', 'structuredClone', 'Buffer', 'process', 'window', 'XMLHttpRequest', 'atob', 'performance', 'queueMicrotask', 'Intl']) console.log(name, typeof globalThis[name]);
}

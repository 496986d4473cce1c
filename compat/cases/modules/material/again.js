export * from './lib.js';
export { default as greet } from './lib.js';
export { value as renamed } from './lib.js';
export * as all from './lib.js';

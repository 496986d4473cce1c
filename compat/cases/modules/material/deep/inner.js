import { value } from '../lib.js';
export const text = open('./inner.txt').trim();
export const sum = value + 1;

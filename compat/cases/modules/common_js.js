// row: modules.require
// What is required and imported from files of the older kind.
import named, { x, f } from './material/common/named.js';
import fn, { two } from './material/common/function.js';
import own, { z } from './material/common/own_default.js';
import umd from './material/common/umd.js';
import circle from './material/common/circle_a.js';
import place from './material/common/place.js';
import './material/common/side_effect.js';
const again = require('./material/common/named.js'), http = require('k6/http'), k6 = require('k6'), lib = require('./material/lib.js');
function tried(work) { try { return work(); } catch (e) { return String(e).split(',')[0]; } }
const empty = tried(() => require(''));
export default function () {
  console.log(named, x, f(), fn(1), two, own, z, JSON.stringify(umd), JSON.stringify(circle), JSON.stringify(place), sideEffect);
  console.log(again.x === x, typeof http.get, typeof k6.check, Object.keys(lib).length > 0, empty);
  console.log(tried(() => require('./material/common/named.js')));
}

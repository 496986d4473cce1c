// knee's own answer to https://jslib.k6.io/formdata: release 0.0.1, in which a text is no file and stays empty.

import { FormData } from './formdata.js';

FormData.prototype.append = function append(field, file) {
  if (arguments.length < 2) throw new SyntaxError('Not enough arguments');
  this.parts.push({ field, file });
};

export { FormData };

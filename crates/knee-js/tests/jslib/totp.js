// passed: 0
// failed: 0
import { TOTP } from 'https://jslib.k6.io/totp/1.0.0/index.js';

const same = (found, expected) => {
  if (found !== expected) console.error(`${found} instead of ${expected}`);
};

// The values of RFC 6238, appendix B, whose secret is '12345678901234567890'.
export default async function () {
  const totp = new TOTP('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', 8);
  const now = Date.now;
  const at = (seconds) => { Date.now = () => seconds * 1000; };
  at(59);
  same(await totp.gen(), '94287082');
  same(await totp.gen(60), '84755224');
  same(await totp.gen(30, 59), '84755224');
  same(await totp.verify('94287082'), true);
  same(await totp.verify(94287082), false);
  same(await totp.verify('84755224', 60), true);
  at(1111111109);
  same(await totp.gen(), '07081804');
  at(20000000000);
  same(await totp.gen(), '65353130');
  at(89);
  same(await totp.verify('94287082'), false);
  Date.now = now;
  same((await new TOTP('GAXG2MTEOR3DMMDG').gen()).length, 6);
}

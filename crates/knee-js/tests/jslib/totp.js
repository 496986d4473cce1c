// passed: 0
// failed: 0
import { TOTP } from 'https://jslib.k6.io/totp/1.0.0/index.js';

const same = (found, expected) => {
  if (found !== expected) console.error(`${found} instead of ${expected}`);
};

// The values of RFC 6238, appendix B, whose secret is '12345678901234567890'.
export default async function () {
  const totp = new TOTP('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', 8);
  same(await totp.gen(Math.floor(59 / 30)), '94287082');
  same(await totp.gen(Math.floor(1111111109 / 30)), '07081804');
  same(await totp.gen(Math.floor(20000000000 / 30)), '65353130');
  same(await totp.verify(await totp.gen()), true);
  same(await totp.verify('00000000'), false);
  same((await new TOTP('GAXG2MTEOR3DMMDG').gen()).length, 6);
}

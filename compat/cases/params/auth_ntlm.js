// row: params.auth
import http from 'k6/http';

const base = __ENV.BASE;
const get = (offer, who, given, params) => {
  const url = base.replace('http://', `http://${given}`);
  const res = http.get(`${url}/ntlm-auth/${offer}/${who}`, { auth: 'ntlm', ...params });
  console.log(offer, given, res.status, res.body, res.error_code, res.error);
  return res;
};

export default function () {
  const res = get('NTLM', '-/ann/secret', 'ann:secret@');
  console.log(Object.keys(res.request.headers).join(), res.url === res.request.url);
  get('Negotiate', '-/ann/secret', 'ann:secret@');
  get('all', 'SHOP/Ann/p%40ss', 'SHOP%5CAnn:p%40ss@');
  get('NTLM', '-/ann@shop/%C3%B6%E2%82%AC', 'ann%40shop:%C3%B6%E2%82%AC@');
  get('bare', '-/ann/secret', 'ann:secret@');
  get('NTLM', '-/ann/secret', 'ann:wrong@');
  get('Basic', '-/ann/secret', 'ann:secret@');
  get('easy', '-/ann/secret', 'ann:secret@');
  get('garbage', '-/ann/secret', 'ann:secret@');
  get('keys', '-/ann/secret', 'ann:secret@');
  get('NTLM', '-/ann/secret', '');
  get('NTLM', '-/ann/secret', 'ann@');
  get('NTLM', '-/ann/secret', ':@');
  // A header of the script comes before the URL.
  const headers = { Authorization: 'Basic YW5uOnNlY3JldA==' };
  get('NTLM', '-/ann/secret', '', { headers });
  get('NTLM', '-/ann/secret', 'eve:other@', { headers });
  get('NTLM', '-/ann/secret', 'ann:secret@', { headers: { Authorization: 'Bearer token' } });
}

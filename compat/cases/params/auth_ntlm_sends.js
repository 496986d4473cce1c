// row: params.auth
import http from 'k6/http';
import { Counter } from 'k6/metrics';

const base = __ENV.BASE.replace('http://', 'http://ann:secret@');

export default function () {
  const path = '/ntlm-auth/NTLM/-/ann/secret';
  const posted = http.post(`${base}${path}`, 'the body', { auth: 'ntlm', tags: { step: 'post' } });
  console.log(posted.status, posted.body, posted.request.body, posted.request.method);
  const moved = http.get(`${base}/redirect-to?url=${encodeURIComponent(path)}`, { auth: 'ntlm' });
  console.log(moved.status, moved.body, moved.url.endsWith(path));
  const kept = http.get(`${base}/redirect-to?url=${encodeURIComponent(path)}`, { auth: 'ntlm', redirects: 0 });
  console.log(kept.status);
  const open = http.get(`${base}/get`, { auth: 'ntlm' });
  console.log(open.status, JSON.stringify(open.json('headers.Authorization')));
  const batch = http.batch([
    ['GET', `${base}${path}`, null, { auth: 'ntlm' }],
  ]);
  console.log(batch[0].status);
}

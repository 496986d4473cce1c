// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
const show = (r) => console.log(r.url, r.status, Object.keys(r.headers).length > 0, r.body.length, r.error);
export default function () {
  const never = () => console.log('never');
  show(ws.connect('ws://127.0.0.1:1/', never));
  for (const path of ['/status/404', '/status/200', '/ws/wrong_key']) show(ws.connect(base + path, never));
  for (const url of [`${__ENV.BASE}/ws/echo`, base.replace('//', '//u:p@'), 'ws://127.0.0.1:99999/', 'ws://[::1/', '', 'h/x']) show(ws.connect(url, never));
  show(ws.connect(`${base}/ws/echo`, { headers: { Upgrade: 'x' } }, never));
}

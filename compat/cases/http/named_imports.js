// row: k6/http.get, k6/http.post
import { get, post as send, del } from 'k6/http';
import * as all from 'k6/http';
export default function () {
  get(`${__ENV.BASE}/get`);
  send(`${__ENV.BASE}/post`, 'x');
  del(`${__ENV.BASE}/delete`);
  all.get(`${__ENV.BASE}/get?all`);

}

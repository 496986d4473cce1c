// row: k6/x/sse
import sse from 'k6/x/sse';
import http from 'k6/http';
export default function () {
  sse.open(`${__ENV.BASE}/sse/count/2`, (client) => {
    client.on('event', (event) => {
      console.log('outer', event.id, http.get(`${__ENV.BASE}/get`).status);
      sse.open(`${__ENV.BASE}/sse/count/2`, (inner) => { inner.on('event', (e) => console.log('inner', e.id)); });
    });
  });
}

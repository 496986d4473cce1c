// row: k6/metrics.Counter, built-in metrics
import http from 'k6/http';
import { Counter, Rate } from 'k6/metrics';
const requests = new Counter('http_reqs'), failed = new Rate('http_req_failed');
export default function () { http.get(`${__ENV.BASE}/get`); requests.add(10); failed.add(true); }

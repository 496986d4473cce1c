// For `cargo xtask pages`: a check that fails now and then, a metric of its own, and a threshold that is crossed.
import http from "k6/http";
import { check, group } from "k6";
import { Trend, Counter } from "k6/metrics";

export const options = {
  vus: 4,
  duration: "3s",
  thresholds: { http_req_duration: ["p(95)<10000"], "checks{kind:even}": ["rate>0.99"], http_req_failed: ["rate<0.01"] },
};

const size = new Trend("basket_size");
const orders = new Counter("orders");

export default function () {
  group("shop", () => {
    const answer = http.get("URL");
    check(answer, { "is 200": (r) => r.status === 200, "number of the iteration is even": () => __ITER % 2 === 0 }, { kind: "even" });
    size.add(__ITER % 7);
    orders.add(1);
  });
}

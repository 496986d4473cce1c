// For `cargo xtask pages`: 500 endpoints, and names that attack what shows them.
import http from "k6/http";
import { check } from "k6";

export const options = { vus: 2, duration: `${__ENV.SECONDS ?? 3}s` };

const HOSTILE = [
  "</script><script>console.log('attack')</script>",
  "<img src=x onerror=console.log('attack')>",
  "\u001b[31mred\u001b[0m",
  "\u202egnp.exe",
  "=1+1",
  `${"long ".repeat(200)}name`,
  "__proto__",
  "javascript:console.log('attack')",
];

export default function () {
  const number = (__ITER * 2 + __VU) % 500;
  const name = HOSTILE[number] ?? `endpoint ${number}`;
  check(http.get("URL", { tags: { name } }), { [name]: (r) => r.status === 200 });
}

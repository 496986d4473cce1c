//! Requests that no code waits for any more, and batches: what they leave in the record and in k6's metrics.

use std::thread;

use knee_core::outcome::Outcome as Ended;
use knee_js::program::Limits;

use super::harness::{Outcome, run_text_against};
use super::server::{Server, reply};

/// Runs a script against a server that never answers requests of `/never`.
fn run(source: &str) -> Outcome {
    let server = Server::start_with(|asked| {
        if asked.path == "/never" {
            loop {
                thread::park();
            }
        }
        Some(reply(200, "{}"))
    });
    run_text_against(&server, source, Limits::default())
}

#[test]
fn a_request_that_no_code_waits_for_ends_with_its_iteration_and_is_no_sample() {
    let outcome = run("import http from 'k6/http'; import { sleep } from 'k6';
         export const options = { vus: 2, iterations: 20 };
         export default async () => { http.asyncRequest('GET', __ENV.BASE + '/never'); sleep(0.02); throw 1; }");
    let run = outcome.run.unwrap();
    let all = run.measured.all();
    assert_eq!((all.planned, all.count(Ended::Censored) + all.count(Ended::Unsent)), (20, 20));
    assert_eq!((run.concurrency.at_end, run.concurrency.max <= 2), (0, true));
    assert_eq!(outcome.counters.get("http_reqs").copied().unwrap_or(0.0).to_string(), "0");
}

#[test]
fn a_request_that_is_awaited_is_a_sample_like_any_other() {
    let outcome = run("import http from 'k6/http';
         export const options = { vus: 1, iterations: 3 };
         export default () => { http.asyncRequest('GET', __ENV.BASE + '/'); }");
    assert_eq!(outcome.run.unwrap().measured.all().count(Ended::Ok), 3);
    assert_eq!(outcome.counters["http_reqs"].to_string(), "3");
}

#[test]
fn responses_of_a_large_batch_come_in_the_order_of_its_requests() {
    let outcome = run("import http from 'k6/http'; import { check } from 'k6';
         export const options = { vus: 1, iterations: 1 };
         export default () => {
           const all = http.batch(Array.from({ length: 3000 }, (_, i) => `${__ENV.BASE}/${i}`));
           check(all, { 'in order': (all) => all.length === 3000 && all.every((r, i) => r.url.endsWith(`/${i}`)) });
         }");
    assert_eq!(outcome.checks, (1, 0), "{:?}", outcome.lines);
    assert!(outcome.run.unwrap().concurrency.max <= 6);
}

#[test]
fn a_batch_that_is_cut_off_sends_nothing_more() {
    let outcome = run("import http from 'k6/http';
         export const options = { scenarios: { one: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' } } };
         export default () => { http.batch(new Array(100).fill(__ENV.BASE + '/never')); }");
    assert_eq!(outcome.run.unwrap().measured.all().planned, 6);
}

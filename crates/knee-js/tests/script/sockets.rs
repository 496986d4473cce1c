//! Sockets of scripts against a server that breaks the rules: what scripts see of it, and what the record counts.
//!
//! What scripts do with servers that keep the rules is compared with k6 by `cargo xtask compat`.

use std::thread;
use std::time::Duration;

use knee_core::outcome::Outcome as Ended;
use knee_js::program::Limits;

use super::harness::{Outcome, run_text_against};
use super::peer;
use super::server::Server;

/// How often the server is asked whether it has seen what was sent.
const LOOKS: u32 = 2_000;
/// The pause after each time.
const PAUSE: Duration = Duration::from_millis(5);

fn run(server: &Server, source: &str) -> Outcome {
    run_text_against(server, source, Limits::default())
}

/// What a script of `k6/ws` sees of a path: its events, and the error of the result.
fn seen_by_ws(path: &str) -> Vec<String> {
    let source = format!(
        "import ws from 'k6/ws';
         export default () => {{
           const r = ws.connect(__ENV.BASE + '{path}', (s) => {{
             if ('{path}' === '/reset') s.on('open', () => s.send('x'));
             s.on('message', (text) => console.log('message', text));
             s.on('error', (e) => console.log('error', e.error()));
             s.on('close', (code) => console.log('close', code));
           }});
           console.log(r.status, r.error);
         }}"
    );
    run(&peer::start(), &source).lines
}

/// The same for `k6/websockets`.
fn seen_by_websockets(path: &str) -> Vec<String> {
    let source = format!(
        "import {{ WebSocket }} from 'k6/websockets';
         export default () => {{
           const s = new WebSocket(__ENV.BASE + '{path}');
           if ('{path}' === '/reset') s.onopen = () => s.send('x');
           s.onmessage = (e) => console.log('message', e.data);
           s.onerror = (e) => console.log('error', e.error);
           s.onclose = (e) => console.log('close', e.code, s.readyState);
         }}"
    );
    run(&peer::start(), &source).lines
}

/// Waits until the server has seen a frame.
fn wait_for(server: &Server, frame: &str) {
    let has_come = || server.journal.lock().unwrap().iter().any(|line| line == frame);
    for _ in 0..LOOKS {
        if has_come() {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("{:?}", server.journal.lock().unwrap());
}

#[test]
fn a_script_sees_what_a_broken_server_did_as_under_k6() {
    // Recorded from k6 v1.8.1, apart from ports, and from `huge`, for which k6 allocates what the frame says.
    for (path, expected) in [
        (
            "/half",
            &["error websocket: close 1006 (abnormal closure): unexpected EOF", "close 1006", "101 "][..],
        ),
        ("/masked", &["error websocket: close sent", "close 1001", "101 "]),
        ("/garbage", &["0 malformed HTTP response \"garbage\""]),
        ("/eof", &["0 unexpected EOF"]),
        ("/huge", &["close 1001", "101 "]),
    ] {
        assert_eq!(seen_by_ws(path), expected, "{path}");
    }
}

#[test]
fn a_connection_that_is_reset_ends_its_socket() {
    let lines = seen_by_ws("/reset");
    assert_eq!(lines.last().unwrap(), "101 ", "{lines:?}");
    assert!(
        lines.contains(&"close 1001".to_owned()) || lines.contains(&"close 1006".to_owned()),
        "{lines:?}"
    );
    let lines = seen_by_websockets("/reset");
    assert!(lines.last().unwrap().starts_with("close "), "{lines:?}");
}

#[test]
fn sockets_of_the_event_loop_end_with_an_error_or_without_one_as_under_k6() {
    for (path, expected) in [
        ("/half", &["error websocket: close 1006 (abnormal closure): unexpected EOF", "close 1006 3"][..]),
        ("/masked", &["close undefined 3"]),
        ("/garbage", &["error malformed HTTP response \"garbage\"", "close undefined 3"]),
        ("/eof", &["error unexpected EOF", "close undefined 3"]),
    ] {
        assert_eq!(seen_by_websockets(path), expected, "{path}");
    }
}

#[test]
fn the_record_counts_handshakes_and_the_metrics_count_messages() {
    let server = peer::start();
    let outcome = run(
        &server,
        "import ws from 'k6/ws';
         export const options = { vus: 2, iterations: 10 };
         export default () => {
           ws.connect(__ENV.BASE + '/echo', (s) => {
             s.on('open', () => { for (let i = 0; i < 5; i++) s.send('x'); });
             let got = 0;
             s.on('message', () => { if (++got === 5) s.close(); });
           });
           ws.connect('ws://127.0.0.1:1/', () => {});
         }",
    );
    let run = outcome.run.unwrap();
    let all = run.measured.all();
    assert_eq!((all.planned, all.count(Ended::Ok), all.count(Ended::TransportError)), (20, 10, 10));
    assert_eq!(run.concurrency.at_end, 0);
    let counted = |name: &str| outcome.counters[name].to_string();
    assert_eq!(
        (counted("ws_sessions"), counted("ws_msgs_sent"), counted("ws_msgs_received")),
        ("20".to_owned(), "50".to_owned(), "50".to_owned())
    );
    assert!(outcome.counters["data_received"] > 10.0 * 100.0);
}

#[test]
fn every_message_of_a_burst_arrives_in_order() {
    let outcome = run(
        &peer::start(),
        "import { WebSocket } from 'k6/websockets'; import { check } from 'k6';
         export default () => {
           const s = new WebSocket(__ENV.BASE + '/many'); const got = [];
           s.onmessage = (e) => { got.push(Number(e.data)); if (got.length === 200) s.close(); };
           s.onclose = () => check(got, { 'in order': () => got.length === 200 && got.every((n, i) => n === i) });
         }",
    );
    assert_eq!(outcome.checks, (1, 0), "{:?}", outcome.lines);
}

#[test]
fn a_server_that_sends_faster_than_its_script_reads_is_slowed_down() {
    // All messages together are six times the memory of the VU.
    let limits = Limits { memory: 8 << 20, ..Limits::default() };
    let source = format!(
        "import ws from 'k6/ws'; import {{ sleep, check }} from 'k6';
         export default () => {{
           let got = 0;
           ws.connect(__ENV.BASE + '/flood', (s) => {{
             s.on('message', (text) => {{ if (text.length === {} && Number(text.slice(0, 6)) === got) got++; sleep(0.002); }});
           }});
           check(got, {{ 'all of them': (got) => got === {} }});
         }}",
        peer::FLOOD_BYTES,
        peer::FLOOD
    );
    let outcome = run_text_against(&peer::start(), &source, limits);
    assert_eq!(outcome.checks, (1, 0), "{:?}", outcome.lines);
}

#[test]
fn sockets_that_the_run_ends_are_closed_as_k6_closes_them() {
    let options = "export const options = { scenarios: { a:
        { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '100ms' } } };";
    let server = peer::start();
    let ws = format!(
        "import ws from 'k6/ws'; {options}
         export default () => {{ ws.connect(__ENV.BASE + '/ws', (s) => s.on('close', () => console.log('never'))); }}"
    );
    let outcome = run(&server, &ws);
    assert_eq!(
        (outcome.lines.len(), outcome.iterations.to_string()),
        (0, "0".to_owned()),
        "{:?}",
        outcome.lines
    );
    wait_for(&server, "/ws 88 \\x03\\xe9");
    let websockets = format!(
        "import {{ WebSocket }} from 'k6/websockets'; {options}
         export default () => {{ new WebSocket(__ENV.BASE + '/loop').onclose = () => console.log('never'); }}"
    );
    let outcome = run(&server, &websockets);
    assert_eq!(outcome.lines.len(), 0, "{:?}", outcome.lines);
    wait_for(&server, "/loop 88 \\x03\\xe8");
}

#[test]
fn a_handshake_without_a_response_ends_with_the_iteration_and_is_no_sample() {
    for script in [
        "import ws from 'k6/ws'; export default () => { ws.connect(__ENV.BASE + '/silent', () => {}); }",
        "import { WebSocket } from 'k6/websockets'; export default () => { new WebSocket(__ENV.BASE + '/silent'); }",
    ] {
        let source = format!(
            "{script}; export const options = {{ scenarios: {{ a:
             {{ executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' }} }} }};"
        );
        let outcome = run(&peer::start(), &source);
        let run = outcome.run.unwrap();
        let all = run.measured.all();
        assert_eq!((all.planned, all.count(Ended::Censored)), (1, 1));
        assert!(!outcome.counters.contains_key("ws_sessions"));
    }
}

#[test]
fn a_close_that_the_server_does_not_answer_ends_after_a_while() {
    let outcome = run(
        &peer::start(),
        "import { WebSocket } from 'k6/websockets';
         export default () => {
           const s = new WebSocket(__ENV.BASE + '/deaf');
           s.onopen = () => s.close(3000, 'bye');
           s.onclose = (e) => console.log('close', e.code);
         }",
    );
    assert_eq!(outcome.lines, ["close 3000"]);
}

#[test]
fn sockets_cannot_be_opened_while_the_script_is_loaded() {
    for source in [
        "import ws from 'k6/ws'; ws.connect('ws://127.0.0.1:1/', () => {}); export default () => {}",
        "import { WebSocket } from 'k6/websockets'; new WebSocket('ws://127.0.0.1:1/'); export default () => {}",
    ] {
        let refused = run(&peer::start(), source).refused.unwrap();
        assert!(refused.contains("using websockets in the init context is not supported"), "{refused}");
    }
}

#[test]
fn a_script_that_sends_more_than_its_memory_gets_an_error() {
    let limits = Limits { memory: 8 << 20, ..Limits::default() };
    let outcome = run_text_against(
        &peer::start(),
        "import { WebSocket } from 'k6/websockets';
         export default () => {
           const s = new WebSocket(__ENV.BASE + '/silent-later');
           s.onopen = () => { const big = 'x'.repeat(1 << 20); for (let i = 0; i < 1000; i++) s.send(big); };
         }",
        limits,
    );
    assert!(outcome.lines.iter().any(|line| line.contains("out of memory")), "{:?}", outcome.lines);
}

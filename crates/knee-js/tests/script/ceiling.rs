//! Scripts that the ceiling of an agent holds back: what they send after they have opened something counts too.
//!
//! Each sends more than the ceiling lets out at once, and so takes at least as long as the rest of it.

use std::sync::Arc;

use knee_core::unit::Nanos;
use knee_js::program::Limits;
use knee_k6::http::pace::Pace;

use super::harness::{Outcome, run_against, run_held};
use super::redis::Redis;
use super::server::Server;
use super::{grpc_faults, peer};

const PROTO: &str = "syntax = \"proto3\"; package echo;
message Text { string text = 1; }
service Echo { rpc Tell(stream Text) returns (Text); }";

/// Runs a script that sends 31 times, of which the ceiling lets 21 out at once and the others within half a second.
fn held(server: &Server, source: &str) -> Outcome {
    let ceiling = Arc::new(Pace::ceiling(20.0));
    let outcome = run_held(server, (source, PROTO), &ceiling);
    let lasted = outcome.run.as_ref().unwrap().ended;
    assert!(lasted >= Nanos::from_millis(450), "{lasted}: {:?}", outcome.lines);
    assert!(ceiling.held_up());
    outcome
}

#[test]
fn messages_of_a_socket_are_sent_no_faster_than_the_agent_lets_them_and_in_order() {
    let ws = "import ws from 'k6/ws';
        export default () => {
          ws.connect(__ENV.BASE + '/echo', (s) => {
            s.on('open', () => { for (let i = 0; i < 30; i++) s.send(String(i)); s.close(); });
          });
        };";
    let websockets = "import { WebSocket } from 'k6/websockets';
        export default () => {
          const s = new WebSocket(__ENV.BASE + '/echo');
          s.onopen = () => { for (let i = 0; i < 30; i++) s.send(String(i)); s.close(); };
          s.onclose = (e) => console.log('closed', e.code);
        };";
    // As in k6, the close of `k6/websockets` counts as a message.
    for (source, counted) in [(ws, "30"), (websockets, "31")] {
        let server = peer::start();
        let outcome = held(&server, source);
        let frames = server.journal.lock().unwrap().clone();
        let sent: Vec<String> = (0..30).map(|number| format!("/echo 81 {number}")).collect();
        assert_eq!(frames[..30], sent);
        assert!(frames[30].starts_with("/echo 88 "), "the close comes last: {frames:?}");
        assert_eq!(outcome.counters["ws_msgs_sent"].to_string(), counted, "{:?}", outcome.lines);
    }
}

#[test]
fn a_socket_that_ends_while_messages_wait_keeps_no_script_waiting() {
    let source = "import ws from 'k6/ws';
        export const options = { scenarios: { a:
          { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '100ms' } } };
        export default () => {
          ws.connect(__ENV.BASE + '/echo', (s) => {
            s.on('open', () => { for (let i = 0; i < 3; i++) s.send(String(i)); s.close(); });
          });
        };";
    // A message in five seconds: the iteration is cut off before the last ones.
    let ceiling = Arc::new(Pace::ceiling(0.2));
    let outcome = run_held(&peer::start(), (source, PROTO), &ceiling);
    let lasted = outcome.run.unwrap().ended;
    assert!(lasted < Nanos::from_secs(4), "{lasted}");
}

#[test]
fn messages_of_a_grpc_stream_are_sent_no_faster_than_the_agent_lets_them() {
    let outcome = held(
        &grpc_faults::start_good(),
        "import grpc from 'k6/net/grpc';
         const client = new grpc.Client();
         client.load([], 'echo.proto');
         export default () => {
           client.connect(__ENV.BASE, { plaintext: true });
           const stream = new grpc.Stream(client, 'echo.Echo/Tell');
           stream.on('data', (message) => console.log(message.text));
           stream.on('end', () => client.close());
           for (let i = 0; i < 30; i++) stream.write({ text: 'x' });
           stream.end();
         };",
    );
    assert_eq!(outcome.lines, ["fine"]);
    assert_eq!(outcome.counters["grpc_streams_msgs_sent"].to_string(), "30");
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn commands_to_redis_are_sent_no_faster_than_the_agent_lets_them() {
    let redis = Redis::start(&[]);
    let source = format!(
        "import {{ Client }} from 'k6/x/redis';
         const client = new Client('redis://127.0.0.1:{}');
         export default async () => {{
           for (let i = 0; i < 31; i++) await client.incr('count');
           console.log(await client.get('count'));
         }}",
        redis.port
    );
    let outcome = held(&Server::start(), &source);
    assert_eq!(outcome.lines, ["31"]);
    // Without a ceiling the same takes no time to speak of.
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, &source).unwrap();
    let free = run_against(&Server::start(), &script, Limits::default(), &[]);
    assert_eq!(free.lines, ["62"]);
}

//! Streams of events: a server that writes them one by one, as a service that generates text does.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::program::Home;
use crate::server::Server;

/// What the server writes after its head: texts with pauses before them.
type Script = &'static [(u64, &'static str)];

/// Three events, the last of which says that it is.
const THREE: Script = &[(0, "data: one\n\n"), (20, "data: two\n\n"), (20, "data: [DONE]\n\n")];

/// A server that answers every request with the same stream. With `holds` the stream has no end.
fn serve(script: Script, holds: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || answer(stream, script, holds));
        }
    });
    address
}

/// Answers the requests of one connection; `None` when it ends.
fn answer(stream: TcpStream, script: Script, holds: bool) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    writer.set_nodelay(true).ok()?;
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        writer.write_all(head.as_bytes()).ok()?;
        for (pause, text) in script {
            thread::sleep(Duration::from_millis(*pause));
            writer.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).ok()?;
        }
        if !holds {
            writer.write_all(b"0\r\n\r\n").ok()?;
        }
    }
}

/// The result of a load as JSON.
fn result(home: &Home, line: &str) -> Value {
    let finished = home.knee(&format!("{line} --output-format json")).run();
    serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{}", finished.stderr))
}

#[test]
fn a_load_on_a_stream_says_when_the_first_event_came_and_how_far_the_others_were_apart() {
    let home = Home::new();
    let url = format!("http://{}/", serve(THREE, false));
    let result = result(&home, &format!("{url} --stream -n 10 -c 2"));
    assert_eq!(result["requests"]["ok"], 10, "{result}");
    let events = &result["events"];
    assert_eq!((&events["count"], &events["responses"]), (&30.into(), &10.into()), "{events}");
    assert_eq!(events["per_response"], 3.0);
    assert!(millis(&events["event_gap_ms"]["min"]) >= 10.0, "the server paused for 20 ms: {events}");
    assert!(millis(&events["longest_gap_ms"]["mean"]) >= millis(&events["event_gap_ms"]["mean"]));
    let text = home.knee(&format!("{url} --stream -n 10 -c 2")).run().stdout;
    for part in
        ["Events", "30 events in 10 responses, 3 each", "first event", "between events", "longest gap"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn the_event_that_until_names_ends_a_response_that_would_never_end() {
    let home = Home::new();
    let url = format!("http://{}/", serve(THREE, true));
    let result = result(&home, &format!("{url} --stream --until [DONE] -n 6 -c 2"));
    assert_eq!(result["requests"]["ok"], 6, "{result}");
    assert_eq!(result["events"]["count"], 18);
    // A response that was left is the end of its connection.
    assert_eq!(result["connections"]["opened"], 6);
}

#[test]
fn a_page_is_no_stream_and_its_load_says_so() {
    let home = Home::new();
    let server = Server::start();
    let result = result(&home, &format!("{} --stream -n 4 -c 2", server.url("/")));
    assert_eq!(result["errors"][0]["fault"], "no_events", "{result}");
    assert!(result.get("events").is_none());
    let accepted = server.seen()[0].clone();
    assert_eq!(accepted.header("accept"), Some("text/event-stream, application/x-ndjson"));
    assert_eq!(accepted.header("accept-encoding"), None);
}

#[test]
fn a_script_gets_the_events_and_the_record_their_times() {
    let home = Home::new();
    let address = serve(THREE, true);
    let script = format!(
        "import sse from 'k6/x/sse';
         export const options = {{ vus: 2, iterations: 6 }};
         export default function () {{
           sse.open('http://{address}/', (client) => {{
             client.on('event', (event) => {{ if (event.data === '[DONE]') client.close(); }});
           }});
         }}"
    );
    home.file("stream.js", &script);
    home.knee("run --record stream.knee stream.js").run();
    let result = home.report("stream.knee");
    assert_eq!(result["requests"]["ok"], 6, "{result}");
    assert_eq!((&result["events"]["count"], &result["events"]["responses"]), (&18.into(), &6.into()));
}

#[test]
fn a_limit_on_the_first_event_needs_streams() {
    let home = Home::new();
    let finished = home.knee("sweep http://127.0.0.1:1/ --slo").arg("first_event p99<500ms").run();
    assert!(finished.stderr.contains("add `--stream`"), "{}", finished.stderr);
    let finished = home.knee("http://127.0.0.1:1/ --until [DONE]").run();
    assert!(finished.stderr.contains("--stream"), "{}", finished.stderr);
}

fn millis(figure: &Value) -> f64 {
    figure.as_f64().unwrap_or_else(|| panic!("{figure} is no number"))
}

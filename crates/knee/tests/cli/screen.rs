//! What is seen while a run goes on: lines in a pipe, the live screen on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{Home, Running};
use crate::server::Server;

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

#[test]
fn without_a_terminal_there_is_a_line_an_interval() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-q 50 -z 2500ms -c 4").arg(server.url("/")).run();
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert!(lines[0].trim_start().starts_with("time") && lines[0].contains("lag p99"), "{}", finished.stderr);
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{}", finished.stderr);
    let run = finished.ended_as_it_says(&home);
    // On an idle machine 1, 2 and 2.5 s; a busy one is late, and says when each of its intervals ended.
    let ends: Vec<f64> =
        run["series"].as_array().unwrap().iter().map(|interval| interval["to_s"].as_f64().unwrap()).collect();
    assert!(ends.len() > 1 && ends[0] > 0.99 && ends[ends.len() - 1] > 2.49, "{ends:?}");
    assert!(lines.len() > ends.len(), "a line for each of {ends:?}: {}", finished.stderr);
    for (line, end) in lines[1..].iter().zip(&ends) {
        let told = line.split_whitespace().next().and_then(|time| time.strip_suffix('s'));
        let told: f64 = told.and_then(|time| time.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        assert!((told - end).abs() < 0.1, "{line} of an interval that ended at {end} s");
    }
}

#[test]
fn on_a_terminal_the_screen_comes_and_goes_and_the_result_follows() {
    let (home, server) = (Home::new(), Server::start());
    let (running, mut terminal) = on_terminal(&home, "-q 50 -z 2s -c 4 --no-color", &server.url("/"));
    let finished = running.finish();
    let text = terminal.rest();
    let (before, rest) = text.split_once(ENTER).unwrap_or_else(|| panic!("never entered: {text:?}"));
    let (screen, result) = rest.split_once(LEAVE).unwrap_or_else(|| panic!("never left: {text:?}"));
    assert_eq!(before, "");
    // Single words: blanks are skipped by moving the cursor.
    for part in ["Requests/s", "response", "service", "Generator", "quit"] {
        assert!(screen.contains(part), "{part:?} is missing on the screen {screen:?}");
    }
    assert!(!result.contains(ENTER) && result.contains("100 planned = 100 ok"), "{result:?}");
    assert!(result.trim_end().lines().last().unwrap().starts_with("record: "), "{result:?}");
    finished.ended_as_it_says(&home);
}

#[test]
fn the_key_q_ends_a_run_as_a_signal_does() {
    let (home, server) = (Home::new(), Server::start());
    let (running, mut terminal) = on_terminal(&home, "-q 50 -z 1h -c 4", &server.url("/"));
    terminal.wait_for("Generator");
    terminal.write("q");
    let finished = running.finish();
    let text = terminal.rest();
    assert!(text.contains(LEAVE) && text.contains("Validity"), "{text:?}");
    let run = finished.ended_as_it_says(&home);
    assert_eq!(run["ending"], "interrupted");
}

#[test]
fn the_terminal_has_lines_instead_when_that_is_asked_for() {
    let (home, server) = (Home::new(), Server::start());
    let (running, mut terminal) = on_terminal(&home, "-q 50 -z 1s -c 4 --no-tui", &server.url("/"));
    running.finish();
    let text = terminal.rest();
    assert!(!text.contains(ENTER) && text.contains("resp p50"), "{text:?}");
    assert!(text.contains("\u{1b}["), "the result is in colours");
}

#[test]
fn a_script_on_a_terminal_has_the_screen_and_its_lines_come_when_that_is_gone() {
    let (home, server) = (Home::new(), Server::start());
    let script = home.path("script.js");
    let text = format!(
        "import http from 'k6/http'; import {{ sleep }} from 'k6'; export const options = {{ vus: 1, duration: '2s' }};
         export function setup() {{ console.log('first'); }}
         export default function () {{ http.get('{}'); if (__ITER === 0) console.log('meanwhile'); sleep(0.1); }}
         export function teardown() {{ console.log('last'); }}",
        server.url("/")
    );
    std::fs::write(&script, text).unwrap();
    for (flags, screen) in [("run --no-color", true), ("run --no-color --no-tui", false)] {
        let (running, mut terminal) = on_terminal(&home, flags, &script.display().to_string());
        running.finish();
        let text = terminal.rest();
        assert_eq!(text.contains(ENTER), screen, "{text:?}");
        let told = |part: &str| {
            for line in ["first", "meanwhile", "last"] {
                assert_eq!(
                    text.matches(&format!("] {line:<44}  source=console\r\n")).count(),
                    1,
                    "{line} in {text:?}"
                );
            }
            part.contains("] first ")
        };
        let Some((before, rest)) = text.split_once(ENTER) else {
            assert!(told(&text) && text.contains("resp p50"), "{text:?}");
            continue;
        };
        let (shown, after) = rest.split_once(LEAVE).unwrap();
        assert!(told(before) && shown.contains("Requests/s") && !shown.contains("INFO"), "{text:?}");
        assert!(after.contains("] meanwhile ") && after.contains("http_reqs"), "{after:?}");
    }
}

/// The other side of a terminal of 80 columns and 24 lines.
struct Terminal {
    side: OwnedFd,
    pieces: Receiver<String>,
    text: String,
}

/// Starts `knee` on a terminal.
fn on_terminal(home: &Home, line: &str, url: &str) -> (Running, Terminal) {
    let side = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&side).unwrap();
    unlockpt(&side).unwrap();
    let window = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&side, window).unwrap();
    let name = ptsname(&side, Vec::new()).unwrap();
    let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let knee = home.knee(line).arg(url).env("TERM", "xterm-256color");
    let running = knee.stdin(open()).stdout(open()).stderr(open()).start();
    let (sender, pieces) = mpsc::channel();
    let mut reader = File::from(side.try_clone().unwrap());
    thread::spawn(move || {
        let mut buffer = [0; 4_096];
        // Reading fails when the last program on the other side has ended.
        while let Ok(length @ 1..) = reader.read(&mut buffer) {
            let _ = sender.send(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
    });
    (running, Terminal { side, pieces, text: String::new() })
}

impl Terminal {
    fn write(&self, keys: &str) {
        File::from(self.side.try_clone().unwrap()).write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until `text` has been written.
    fn wait_for(&mut self, text: &str) {
        while !self.text.contains(text) {
            let piece = self.pieces.recv_timeout(Duration::from_secs(60));
            self.text += &piece.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.text));
        }
    }

    /// Everything that was written, after the program has ended.
    fn rest(&mut self) -> String {
        self.text.extend(self.pieces.iter());
        self.text.clone()
    }
}

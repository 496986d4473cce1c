//! A program with a fixture, for the tests that kill it; and the service that such a fixture starts.
//!
//! `fixture_host up DECLARATION STUDY TEMPORARY [supervisor]` brings up a declaration, starts, resets and starts `main`, and
//! says on standard output which step is next; it goes on with each line that it reads. `fixture_host serve PORT DATA`
//! is a service: `GET /put?text` appends to a file, `GET /get` returns it. Does not check anything.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for tests, which fails by a panic")]

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use knee_fixture::{Fixture, Options, Overrides, supervisor};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

fn main() -> ExitCode {
    if let Some(code) = supervisor::main(std::env::args_os()) {
        return code;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("serve") => serve(words[1].parse().unwrap(), Path::new(&words[2])),
        Some("up") => {
            die_of_signals();
            up(&words[1..])
        }
        _ => panic!("`up` or `serve`"),
    }
}

/// Dies of signals as programs do by default, also where the tests were started with them ignored, as `nohup` does.
fn die_of_signals() {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).unwrap();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            emulate_default_handler(signal).unwrap();
        }
    });
}

fn up(words: &[String]) -> ExitCode {
    let declaration = toml::from_str(&std::fs::read_to_string(&words[0]).unwrap()).unwrap();
    let mut options = Options::new(&words[1]);
    options.temporary = Some(PathBuf::from(&words[2]));
    if words.get(3).is_some_and(|word| word == "supervisor") {
        options.supervisor = Some(supervisor::Program::this().unwrap());
    }
    match steps(&declaration, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn steps(
    declaration: &knee_core::fixture::Declaration,
    options: &Options,
) -> Result<(), knee_fixture::Error> {
    let mut input = std::io::stdin().lines();
    let mut step = |name: &str, of: &str| {
        println!("{name} {of}");
        std::io::stdout().flush().unwrap();
        // The test can kill us here, or in the middle of what comes next.
        assert!(input.next().is_some_and(|line| line.unwrap() != "panic"), "asked to panic");
    };
    step("up", "");
    let mut fixture = Fixture::up(declaration, options)?;
    step("start", &fixture.folder().display().to_string());
    let running = fixture.start("main", &Overrides::default())?;
    step("reset", &running.url);
    fixture.reset("main")?;
    step("again", "");
    fixture.start("main", &Overrides::default())?;
    step("down", "");
    fixture.down()?;
    step("end", "");
    Ok(())
}

/// Answers one request a connection. Says what it does, because its log is looked at.
fn serve(port: u16, data: &Path) -> ExitCode {
    if std::env::var_os("DIE_AT_START").is_some() {
        println!("cannot find the moon");
        return ExitCode::from(3);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    println!("listening on {port}");
    for stream in listener.incoming() {
        answer(&stream.unwrap(), &data.join("texts"));
    }
    ExitCode::SUCCESS
}

fn answer(mut stream: &TcpStream, file: &Path) {
    let mut line = String::new();
    let mut reader = BufReader::new(stream);
    let _ = reader.read_line(&mut line);
    let path = line.split(' ').nth(1).unwrap_or_default();
    let body = match path.split_once('?') {
        Some(("/put", text)) => {
            let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
            writeln!(file, "{text}").unwrap();
            String::new()
        }
        Some(("/env", name)) => std::env::var(name).unwrap_or_default(),
        _ if path == "/get" => std::fs::read_to_string(file).unwrap_or_default(),
        _ if path == "/args" => std::env::args().skip(4).collect::<Vec<_>>().join(" "),
        _ if path == "/cpus" => {
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    };
    // What the client sent beyond the first line must be read, or the answer is reset with it.
    let mut rest = String::new();
    while reader.read_line(&mut rest).is_ok_and(|read| read > 2) {
        rest.clear();
    }
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

//! A guest book on SQLite whose connections are watched: what a service needs for that.
//!
//! GET / finds the entries of one guest without an index, POST / writes an entry, and GET /metrics is the page of the
//! watch. Start it, and look at it under load:
//!
//! ```sh
//! cargo run --release -p knee-sqlite --example guestbook
//! knee http://127.0.0.1:3900/ -c 4 -z 10s --observe prometheus:http://127.0.0.1:3900/metrics
//! ```
//!
//! Understands no more HTTP than that.

use std::error::Error;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use knee_sqlite::Watch;
use rusqlite::Connection;

const ADDRESS: &str = "127.0.0.1:3900";
const BUSY_WAIT_MAX: Duration = Duration::from_secs(5);
const TABLE: &str = "PRAGMA journal_mode = WAL;
    CREATE TABLE entries (id INTEGER PRIMARY KEY, guest INTEGER NOT NULL, text TEXT NOT NULL);
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 50000)
    INSERT INTO entries (guest, text) SELECT n, 'entry ' || n FROM n;";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("guests.db");
    let watch = Watch::new();
    connect(&path, &watch)?.execute_batch(TABLE)?;
    let listener = TcpListener::bind(ADDRESS)?;
    writeln!(io::stdout(), "listening on http://{ADDRESS}")?;
    for stream in listener.incoming() {
        let (stream, watch, path) = (stream?, watch.clone(), path.clone());
        thread::spawn(move || {
            if let Err(error) = serve(&stream, &path, &watch) {
                let _ = writeln!(io::stderr(), "error: {error}");
            }
        });
    }
    Ok(())
}

/// A connection that is watched. Nothing else sets a busy timeout.
fn connect(path: &Path, watch: &Watch) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    watch.connection(&mut connection, BUSY_WAIT_MAX)?;
    Ok(connection)
}

/// Answers the requests of one client, each without a body, until it closes.
fn serve(stream: &TcpStream, path: &Path, watch: &Watch) -> Result<(), Box<dyn Error>> {
    stream.set_nodelay(true)?;
    let connection = connect(path, watch)?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(request) = lines.next().transpose()? {
        while lines.next().transpose()?.is_some_and(|header| !header.is_empty()) {}
        let body = if request.starts_with("GET /metrics ") {
            watch.page()
        } else {
            answer(&connection, request.starts_with("POST "))?
        };
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n");
        let mut out = stream;
        out.write_all(format!("{head}{body}").as_bytes())?;
    }
    Ok(())
}

fn answer(connection: &Connection, writes: bool) -> rusqlite::Result<String> {
    if writes {
        connection.prepare_cached("INSERT INTO entries (guest, text) VALUES (7, 'hello')")?.execute([])?;
        return Ok("thank you\n".to_owned());
    }
    let mut entries = connection.prepare_cached("SELECT text FROM entries WHERE guest = ?1 LIMIT 10")?;
    let texts = entries.query_map([49_999], |row| row.get::<_, String>(0))?;
    Ok(texts.collect::<rusqlite::Result<Vec<String>>>()?.join("\n"))
}

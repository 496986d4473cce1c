//! Counts what the SQLite connections of a service do, for `knee` to read.
//!
//! SQLite runs inside of the service. From outside, `knee` sees its files and its locks; only the service sees how long
//! a connection waits for a lock, which statements scan a table from end to end, and which transactions SQLite refuses.
//! A [`Watch`] counts this and writes it as a page in the text format of Prometheus, which `knee --observe
//! prometheus:http://…` reads. Serves no HTTP, changes no statement and no setting but the busy handler, and contains
//! no other part of `knee`.
//!
//! ```
//! use std::time::Duration;
//!
//! let watch = knee_sqlite::Watch::new();
//! let mut connection = rusqlite::Connection::open_in_memory()?;
//! watch.connection(&mut connection, Duration::from_secs(5))?;
//! connection.execute_batch("CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT)")?;
//! assert!(watch.page().contains("knee_sqlite_statement_calls_total"));
//! # Ok::<(), rusqlite::Error>(())
//! ```

mod clock;

mod connections;

mod counts;

mod mask;

mod number_map;

mod page;

mod statement;

mod trace;

mod transaction;

mod wait;

mod watch;

pub use watch::Watch;

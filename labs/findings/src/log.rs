//! Lines of the log, each written at once.
//!
//! Does not buffer: that is the defect for which this log exists. A healthy service writes no line per request.

use std::io::{self, Write as _};

/// Writes a line to stderr with one call of the system.
pub fn line(text: &str) {
    // A log that cannot be written does not stop a request.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes the debug lines of one request: what an application notes that logs each step of each layer.
pub fn debug_request(route: &str, id: i64) {
    for step in 0..40 {
        line(&format!(
            "level=debug route={route} id={id} step={step} layer=handler session=8f14e45fceea167a5a36dedd4bea2543 \
             headers=\"accept: */*, user-agent: a client, host: 127.0.0.1\" message=\"entered and left\"\n"
        ));
    }
}

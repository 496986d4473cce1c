//! The live page of this process: every run of the command feeds it.
//!
//! A command opens at most one page, before its first run. What sends load does not know whether there is one. Does not
//! serve; [`super::web`] does.

use std::net::SocketAddr;
use std::sync::OnceLock;

use knee_engine::steering::Ceiling;

use knee_engine::control::Control;

use super::feed::Feed;
use super::fold::Conclusion;
use super::web::Server;
use crate::stderr::say;

static PAGE: OnceLock<Server> = OnceLock::new();

/// Opens the page of this process, and returns its URL, which contains the token. A second page is not opened. `control`:
/// up to what a second token can raise a planned rate; `None` for a page that only reads.
///
/// # Errors
///
/// When the address cannot be served.
pub fn open(listen: SocketAddr, command: &'static str, control: Option<Ceiling>) -> std::io::Result<String> {
    let server = Server::start(listen, command, Feed::default(), control)?;
    Ok(PAGE.get_or_init(|| server).url())
}

/// What the page shows; `None` without a page.
pub fn feed() -> Option<Feed> {
    PAGE.get().map(Server::feed)
}

/// The URL of the page; `None` without one.
pub fn url() -> Option<String> {
    PAGE.get().map(Server::url)
}

/// What the URL of the page appends for those who can stop and steer; `None` if it only reads.
pub fn control() -> Option<String> {
    PAGE.get().and_then(Server::control)
}

/// A run begins: its record says if it is watched, and the page can steer it if that was asked for.
pub fn attach(control: &Control) {
    if let Some(page) = PAGE.get() {
        page.attach(control);
    }
}

/// Writes a line to stderr, and to the page if there is one.
pub fn narrate(line: &str) {
    say(line);
    if let Some(feed) = feed() {
        feed.note(line);
    }
}

/// Shows the result of the command, which is made only if there is a page.
pub fn conclude(conclusion: impl FnOnce() -> Conclusion) {
    if let Some(feed) = feed() {
        feed.conclude(conclusion());
    }
}

/// Sends the last figures to everything that watches the page. Waits a second for that at most: a tab never holds up
/// the end of the program.
pub fn close() {
    if let Some(page) = PAGE.get() {
        page.close();
    }
}

//! The live page: what a browser gets of a load in progress.
//!
//! Nothing here can slow the engine, which does not wait for the feed. Does not fold events and does not decide what the
//! page shows; [`crate::web`] admits requests.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::feed::Feed;
use crate::web::{Answer, Pass, Refusal, Request, Site, WRITE_TIME};

mod files;

mod state;

mod stream;

/// Longest that the end of the program waits for the last figures to be sent.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Most watchers at a time.
const WATCHERS_MAX: usize = 16;
/// Bytes that the system keeps for a watcher that does not read.
const SEND_BUFFER: usize = 64 * 1_024;

/// A page that is served until the process ends.
#[derive(Debug)]
pub struct Server(crate::web::Server<LivePage>);

/// What is shown.
#[derive(Debug)]
struct LivePage {
    feed: Feed,
    /// The command whose load is shown.
    command: &'static str,
    watchers: Mutex<usize>,
    one_left: Condvar,
}

impl Server {
    /// Serves what `feed` knows on `listen`; port 0 is a free port.
    ///
    /// # Errors
    ///
    /// When the address is taken or not of this machine.
    pub fn start(listen: SocketAddr, command: &'static str, feed: Feed) -> io::Result<Self> {
        Self::start_with(listen, command, feed, WRITE_TIME)
    }

    fn start_with(
        listen: SocketAddr,
        command: &'static str,
        feed: Feed,
        write_time: Duration,
    ) -> io::Result<Self> {
        let page = LivePage { feed, command, watchers: Mutex::default(), one_left: Condvar::new() };
        crate::web::Server::start(listen, page, write_time).map(Self)
    }

    /// What is shown.
    pub fn feed(&self) -> Feed {
        self.0.site().feed.clone()
    }

    /// The URL for a browser on this machine, with the token.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Sends the last figures to the watchers, and waits a second for that at most.
    pub fn close(&self) {
        let page = self.0.site();
        page.feed.close();
        let waits = |watchers: &mut usize| *watchers > 0;
        // Whether all of them are gone or not, the program ends now.
        drop(page.one_left.wait_timeout_while(page.lock(), CLOSE_TIME, waits));
    }
}

impl Site for LivePage {
    fn respond(&self, request: &Request, pass: &Pass, stream: &TcpStream) -> io::Result<()> {
        if request.path == "/api/events" && !request.is_head {
            return self.watch(stream);
        }
        files::answer(request, pass, || self.state()).write(stream, request.is_head)
    }
}

impl LivePage {
    fn lock(&self) -> std::sync::MutexGuard<'_, usize> {
        // A counter cannot be half changed.
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> String {
        state::of(&self.feed.read(), self.command, 0, self.feed.now()).to_string()
    }

    fn watch(&self, stream: &TcpStream) -> io::Result<()> {
        match Watcher::take(self) {
            Ok(_place) => {
                rustix::net::sockopt::set_socket_send_buffer_size(stream, SEND_BUFFER)?;
                stream::send(stream, &self.feed, self.command)
            }
            Err(refusal) => Answer::refusal(refusal).write(stream, false),
        }
    }
}

/// A place among the watchers.
struct Watcher<'a>(&'a LivePage);

impl<'a> Watcher<'a> {
    fn take(page: &'a LivePage) -> Result<Self, Refusal> {
        let mut watchers = page.lock();
        if *watchers >= WATCHERS_MAX {
            return Err(Refusal::Full);
        }
        *watchers += 1;
        Ok(Self(page))
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.one_left.notify_all();
    }
}

#[cfg(test)]
mod tests;

//! The live page: what a browser gets of a load in progress.
//!
//! Nothing here can slow the engine, which does not wait for the feed. Does not fold events and does not decide what the
//! page shows; [`crate::web`] admits requests, `orders` carries out what a page asks for.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use knee_engine::control::Control;
use knee_engine::steering::Ceiling;

use super::feed::Feed;
use crate::web::{Answer, Pass, Refusal, Request, Site, Terms};

mod files;

mod observed;

mod orders;

mod state;

mod stream;

/// Longest that the end of the program waits for the last figures to be sent.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Most watchers at a time.
const WATCHERS_MAX: usize = 16;
/// Commands with one run.
const STEERED: [&str; 2] = ["run", "demo"];
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
    /// Up to what a planned rate can be raised, if anything can be controlled.
    ceiling: Option<Ceiling>,
    watchers: Mutex<usize>,
    one_left: Condvar,
}

impl Server {
    /// Serves what `feed` knows on `listen`; port 0 is a free port.
    ///
    /// # Errors
    ///
    /// When the address is taken or not of this machine.
    pub fn start(
        listen: SocketAddr,
        command: &'static str,
        feed: Feed,
        control: Option<Ceiling>,
    ) -> io::Result<Self> {
        let terms = Terms { control: control.is_some(), ..Terms::READING };
        Self::start_with(listen, (command, control), feed, terms)
    }

    fn start_with(
        listen: SocketAddr,
        (command, ceiling): (&'static str, Option<Ceiling>),
        feed: Feed,
        terms: Terms,
    ) -> io::Result<Self> {
        let (watchers, one_left) = (Mutex::default(), Condvar::new());
        let page = LivePage { feed, command, ceiling, watchers, one_left };
        crate::web::Server::start(listen, page, terms).map(Self)
    }

    /// A run begins. Only the rate of a single run can be changed: what is compared with others stays as planned.
    pub fn attach(&self, control: &Control) {
        let page = self.0.site();
        if let Some(ceiling) = page.ceiling.filter(|_| STEERED.contains(&page.command)) {
            control.steering().allow(ceiling);
        }
        page.feed.attach(control.clone());
    }

    /// What a URL of the owner appends to control something.
    pub fn control(&self) -> Option<String> {
        self.0.control()
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
        if request.is_form() {
            return orders::carry_out(request, &self.feed).write(stream, false);
        }
        if request.path == "/api/events" && !request.is_head {
            return self.watch(stream);
        }
        files::answer(request, pass, || self.state()).write(stream, request.is_head)
    }

    fn takes_forms(&self, path: &str) -> bool {
        orders::PATHS.contains(&path)
    }
}

impl LivePage {
    fn lock(&self) -> std::sync::MutexGuard<'_, usize> {
        // A counter cannot be half changed.
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> String {
        let steering = self.feed.steering();
        let mut state = {
            let fold = self.feed.read();
            let mut state = state::of(&fold, self.command, 0, self.feed.now());
            state["observed"] = observed::of(&fold.observed);
            state
        };
        state["steering"] = steering.map_or(Value::Null, |steering| state::steering(&steering));
        state.to_string()
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

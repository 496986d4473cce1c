//! The live screen: a loop that waits for keys and events, and draws at most a few times a second.
//!
//! Drawn on stdout's alternate screen, which is a terminal whenever this is chosen; the result is
//! printed after it is gone. The terminal is put back by a guard, on errors too, and by a panic hook.
//! Does not hold the run up: it reads events when it has time.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use knee_core::event::Event;
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use knee_report::number::Unit;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

mod draw;

mod panel;

pub mod screen;

#[cfg(test)]
pub(crate) mod synthetic;

#[cfg(test)]
mod tests;

use super::feed::Feed;
use screen::{Key, Screen};

/// How the screen looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most redraws a second; 1 or more.
    pub fps: u8,
    /// Whether colours are allowed.
    pub color: bool,
    /// Unit of times at first; one that fits when `None`.
    pub unit: Option<Unit>,
    /// Where the live page is, if there is one: the screen covers the line that says so.
    pub page: Option<String>,
}

/// Longest wait for a key before events are looked at. Twenty times a second costs nothing and
/// keeps the screen from delaying the end of a run.
const WAIT: Duration = Duration::from_millis(50);

/// Shows a run until it has ended or the senders of `events` are gone. Its events go into `feed`. Returns the warnings
/// that came meanwhile.
pub fn run(options: &Options, events: &Receiver<Event>, control: &Control, feed: Feed) -> Vec<String> {
    let mut screen = Screen::new(options.unit, options.color, feed).with_page(options.page.clone());
    let shown = Terminal::open()
        .and_then(|mut terminal| show(options, &mut screen, events, control, &mut terminal.0));
    let mut warnings = screen.warnings();
    if let Err(error) = shown {
        warnings.push(format!("the live screen ended early: {error}"));
    }
    warnings
}

/// The terminal in raw mode with the alternate screen; as it was when this is dropped.
struct Terminal(DefaultTerminal);

impl Terminal {
    /// Also installs a panic hook that puts the terminal back before the message is printed.
    fn open() -> io::Result<Self> {
        ratatui::try_init().map(Self).inspect_err(|_| {
            // It can have failed half-way, in raw mode already.
            let _ = ratatui::try_restore();
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If the terminal is gone there is nothing to put back.
        let _ = ratatui::try_restore();
    }
}

fn show(
    options: &Options,
    screen: &mut Screen,
    events: &Receiver<Event>,
    control: &Control,
    terminal: &mut DefaultTerminal,
) -> io::Result<()> {
    let frame = Nanos(1_000_000_000 / u64::from(options.fps.max(1)));
    let mut next_frame = Nanos::ZERO;
    loop {
        if !take_events(screen, events) {
            return Ok(());
        }
        let now = screen.now();
        if screen.is_changed() || now >= next_frame {
            // An interval or a key is shown at once; the progress between them moves once a frame.
            terminal.draw(|frame| draw::frame(screen, frame, now))?;
            next_frame = now + frame;
        }
        if event::poll(WAIT)? {
            take_input(screen, &event::read()?, control);
        }
    }
}

/// Takes every event there is. False when the run is over.
fn take_events(screen: &mut Screen, events: &Receiver<Event>) -> bool {
    loop {
        let now = screen.now();
        match events.try_recv() {
            Ok(event) => {
                screen.handle(&event, now);
                if matches!(event, Event::Ended) {
                    return false;
                }
            }
            Err(TryRecvError::Disconnected) => return false,
            Err(TryRecvError::Empty) => return true,
        }
    }
}

fn take_input(screen: &mut Screen, input: &Input, control: &Control) {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => match key_of(key) {
            Some(Key::Quit) => quit(control),
            Some(key) => screen.press(key),
            None => {}
        },
        Input::Resize(..) => screen.press(Key::Redraw),
        _ => {}
    }
}

/// The first time asks the run to stop, the second time at once.
fn quit(control: &Control) {
    match control.request() {
        Request::Run => {
            control.note("a key was pressed: the run sends no new requests");
            control.stop();
        }
        Request::Stop | Request::Abort => {
            control.note("a key: requests in flight are cut off");
            control.abort();
        }
    }
}

fn key_of(key: &KeyEvent) -> Option<Key> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        // Raw mode makes Ctrl-C a key instead of a signal.
        return matches!(key.code, KeyCode::Char('c' | 'C')).then_some(Key::Quit);
    }
    match key.code {
        KeyCode::Char('q' | 'Q') => Some(Key::Quit),
        KeyCode::Char('+' | '=') => Some(Key::Wider),
        KeyCode::Char('-' | '_') => Some(Key::Narrower),
        KeyCode::Char('a' | 'A') => Some(Key::Auto),
        KeyCode::Char('u' | 'U') => Some(Key::Unit),
        _ => None,
    }
}

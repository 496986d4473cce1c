//! Pictures of the screen, and what keys do.

use std::sync::Arc;

use knee_core::event::Event;
use knee_core::plan::{Executor, Stop};
use knee_core::schedule::Curve;
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};

use super::screen::{Key, Screen};
use super::{synthetic, take_input};
use crate::live::feed::Feed;

fn drawn(screen: &mut Screen, width: u16, height: u16, now: Nanos) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| super::draw::frame(screen, frame, now)).unwrap();
    terminal.backend().clone()
}

fn picture(screen: &mut Screen, width: u16, height: u16, now: Nanos) -> String {
    drawn(screen, width, height, now).to_string()
}

/// A screen that has seen `seconds` of the made-up run, and the time at which it looks.
fn after(seconds: u64) -> (Screen, Nanos) {
    let mut screen = Screen::new(None, true, Feed::default());
    for event in synthetic::events(seconds) {
        screen.handle(&event, Nanos::ZERO);
    }
    (screen, Nanos::from_secs(seconds) + Nanos::from_millis(250))
}

#[test]
fn the_usual_terminal_shows_everything() {
    let (mut screen, now) = after(30);
    insta::assert_snapshot!(picture(&mut screen, 80, 24, now));
}

#[test]
fn a_large_terminal_has_a_chart_for_each_time() {
    let (mut screen, now) = after(45);
    insta::assert_snapshot!(picture(&mut screen, 200, 50, now));
}

#[test]
fn a_small_terminal_keeps_the_figures() {
    let (mut screen, now) = after(12);
    insta::assert_snapshot!(picture(&mut screen, 40, 12, now));
}

#[test]
fn no_size_is_too_small_and_no_moment_too_early() {
    for (width, height) in
        [(0, 0), (1, 1), (1, 50), (200, 1), (40, 12), (63, 16), (64, 16), (10, 10), (300, 80)]
    {
        for seconds in [0, 1, 12] {
            let (mut screen, now) = after(seconds);
            drawn(&mut screen, width, height, now);
            drawn(&mut Screen::new(None, false, Feed::default()), width, height, now);
        }
    }
}

#[test]
fn what_is_left_of_a_number_of_requests_is_estimated_from_the_pace() {
    let mut screen = Screen::new(None, false, Feed::default());
    let executor = Executor::Closed { vus: Curve::constant(50.0) };
    let head = synthetic::head_with(executor, Stop::Requests(10_000));
    screen.handle(&Event::Started(Arc::new(head)), Nanos::from_secs(7));
    for second in 0..4 {
        screen.handle(&Event::Interval(Arc::new(synthetic::interval(second))), Nanos::from_secs(8 + second));
    }
    // 4,000 in 4 s leave 6 s, half a second of which has passed by now.
    let now = Nanos::from_secs(11) + Nanos::from_millis(500);
    let text = picture(&mut screen, 80, 24, now);
    assert!(text.contains("40 % 4,000 of 10,000 requests, 4.5 s, 5.5 s left"), "{text}");
    assert!(text.contains("closed, 50 connections"), "{text}");
}

#[test]
fn the_first_q_or_ctrl_c_stops_and_the_second_aborts() {
    let control = Control::new();
    let (mut screen, _) = after(1);
    let press = |screen: &mut Screen, code, modifiers| {
        take_input(screen, &Input::Key(KeyEvent::new(code, modifiers)), &control);
    };
    press(&mut screen, KeyCode::Char('c'), KeyModifiers::NONE);
    assert_eq!(control.request(), Request::Run);
    press(&mut screen, KeyCode::Char('q'), KeyModifiers::NONE);
    assert_eq!(control.request(), Request::Stop);
    press(&mut screen, KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(control.request(), Request::Abort);
}

#[test]
fn keys_change_the_unit_and_the_bars() {
    let (mut screen, now) = after(12);
    screen.press(Key::Unit);
    let text = picture(&mut screen, 80, 24, now);
    assert!(text.contains("unit of times (us)"), "{text}");
    screen.press(Key::Wider);
    let text = picture(&mut screen, 80, 24, now);
    assert!(text.contains("(bar 10 s"), "{text}");
    screen.press(Key::Narrower);
    screen.press(Key::Narrower);
    screen.press(Key::Auto);
    let text = picture(&mut screen, 80, 24, now);
    assert!(text.contains("(bar 1 s") && text.contains("bars (auto)"), "{text}");
}

#[test]
fn warnings_cannot_steer_the_terminal_and_are_handed_back() {
    let (mut screen, now) = after(1);
    screen.handle(&Event::Warning("the disk\u{1b}[2J is full".to_owned()), now);
    let text = picture(&mut screen, 80, 24, now);
    assert!(text.contains("warning: the disk\\x1b[2J is full"), "{text}");
    assert_eq!(screen.warnings(), ["the disk\u{1b}[2J is full"]);
}

#[test]
fn a_stopped_run_says_what_it_waits_for() {
    let (mut screen, now) = after(3);
    screen.handle(&Event::Stopping { interrupted: true }, now);
    let text = picture(&mut screen, 80, 24, now);
    assert!(text.contains("waiting for requests in flight"), "{text}");
    assert!(text.contains("q again ends the run at once"), "{text}");
}

#[test]
fn a_frame_is_due_when_something_changed() {
    let (mut screen, now) = after(1);
    assert!(screen.is_changed());
    picture(&mut screen, 80, 24, now);
    assert!(!screen.is_changed());
    screen.press(Key::Redraw);
    assert!(screen.is_changed());
}

#[test]
fn the_screen_says_where_the_live_page_is() {
    let (screen, now) = after(3);
    let mut screen = screen.with_page(Some("http://127.0.0.1:4711/?token=07".to_owned()));
    let text = picture(&mut screen, 80, 24, now);
    assert!(text.contains("Live page   http://127.0.0.1:4711/?token=07"), "{text}");
}

//! How the screen is laid out.
//!
//! ```text
//! title
//! progress
//! rate over time        | times of the last second
//! times over time       | responses and errors
//! generator
//! validity so far
//! where the live page is, if there is one
//! keys
//! ```
//!
//! Small terminals lose the charts first. Does not change the state of the screen.

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_report::number;
use knee_report::view::moment::worker_cpu;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Gauge, Paragraph};

use super::panel;
use super::screen::{Picture, Screen};
use crate::live::figure::{clock, percent, time_or_dash};
use crate::live::fold::Phase;
use crate::live::plan_words::load;
use crate::problem::on_one_line;

/// Narrower or lower than this there is no room for charts.
const CHARTS: (u16, u16) = (64, 16);
/// From this width on response and service time have charts of their own.
const WIDE: u16 = 120;

/// Draws everything at `now` on the screen's clock.
pub fn frame(screen: &mut Screen, frame: &mut Frame, now: Nanos) {
    screen.is_shown();
    if frame.area().is_empty() {
        return;
    }
    let feed = screen.feed();
    draw(&Picture { run: &feed.read(), screen }, frame, now);
}

fn draw(picture: &Picture, frame: &mut Frame, now: Nanos) {
    let area = frame.area();
    let page = picture.screen.page.as_ref();
    let rows = [Some(1), Some(1), None, Some(1), Some(1), Some(u16::from(page.is_some())), Some(1)];
    let rows = rows.map(|rows| rows.map_or(Constraint::Min(0), Constraint::Length));
    let [title, progress, body, generator, validity, address, keys] = Layout::vertical(rows).areas(area);
    frame.render_widget(title_line(picture, title.width), title);
    draw_progress(picture, frame, progress, now);
    if area.width < CHARTS.0 || area.height < CHARTS.1 {
        frame.render_widget(Paragraph::new(panel::figures(picture)), body);
    } else {
        draw_body(picture, frame, body);
    }
    frame.render_widget(generator_line(picture), generator);
    frame.render_widget(validity_line(picture), validity);
    if let Some(page) = page {
        frame.render_widget(Line::from(format!("Live page   {page}")), address);
    }
    frame.render_widget(keys_line(picture), keys);
}

fn draw_body(picture: &Picture, frame: &mut Frame, area: Rect) {
    let [above, below] = Layout::vertical([Constraint::Percentage(45), Constraint::Fill(1)]).areas(area);
    let right = Constraint::Length(40.max(area.width / 4));
    let [rates, figures] = Layout::horizontal([Constraint::Fill(1), right]).areas(above);
    let [times, answers] = Layout::horizontal([Constraint::Fill(1), right]).areas(below);
    panel::draw_rates(picture, frame, rates);
    panel::draw_figures(picture, frame, figures);
    if area.width >= WIDE {
        let [response, service] = Layout::horizontal([Constraint::Fill(1); 2]).areas(times);
        panel::draw_times(picture, frame, response, panel::Times::Response);
        panel::draw_times(picture, frame, service, panel::Times::Service);
    } else {
        panel::draw_times(picture, frame, times, panel::Times::Both);
    }
    panel::draw_answers(picture, frame, answers);
}

/// Target, and at the right the load.
fn title_line(picture: &Picture, width: u16) -> Line<'static> {
    let Some(head) = &picture.run.head else { return Line::from("knee") };
    let title = on_one_line(&head.title);
    let load = load(&head.plan);
    let gap = usize::from(width).saturating_sub(title.chars().count() + load.chars().count());
    if gap == 0 {
        return Line::from(vec![Span::styled(title, Style::new().bold()), Span::raw(" "), Span::raw(load)]);
    }
    Line::from(vec![Span::styled(title, Style::new().bold()), Span::raw(" ".repeat(gap)), Span::raw(load)])
}

fn draw_progress(picture: &Picture, frame: &mut Frame, area: Rect, now: Nanos) {
    let (share, left) = picture.run.progress(now);
    let label = progress_label(picture, now, share, left);
    let gauge = Gauge::default().ratio(share).label(label).use_unicode(true);
    let gauge = if picture.screen.color {
        gauge.gauge_style(Style::new().fg(Color::Cyan).bg(Color::Black))
    } else {
        gauge
    };
    frame.render_widget(gauge, area);
}

fn progress_label(picture: &Picture, now: Nanos, share: f64, left: Option<Nanos>) -> String {
    let elapsed = clock(picture.run.elapsed(now));
    let Some(plan) = picture.run.head.as_ref().map(|head| &head.plan) else { return "connecting".to_owned() };
    match picture.run.phase {
        Phase::Waiting => "connecting".to_owned(),
        Phase::Stopping(_) | Phase::Ended => format!("{elapsed}, waiting for requests in flight"),
        Phase::Loading => {
            let done = match (plan.duration(), plan.requests()) {
                (Some(duration), _) => format!("{elapsed} of {}", clock(duration)),
                (None, Some(requests)) => {
                    format!(
                        "{} of {}, {elapsed}",
                        number::count(picture.run.ended()),
                        number::counted(requests, "request")
                    )
                }
                (None, None) => elapsed,
            };
            let left = left.map(|left| format!(", {} left", clock(left))).unwrap_or_default();
            let warm_up =
                picture.run.head.as_ref().is_some_and(|head| picture.run.elapsed(now) < head.measured_from);
            let warm_up = if warm_up { ", warming up" } else { "" };
            format!("{} {done}{left}{warm_up}", percent(share))
        }
    }
}

fn generator_line(picture: &Picture) -> Line<'static> {
    let Some(last) = &picture.run.last else { return Line::from("") };
    let lag = time_or_dash(last.generator_lag_p99, picture.unit());
    let cpu = worker_cpu(last).map_or_else(
        || "CPU -".to_owned(),
        |cpu| match last.generator.workers {
            1 => format!("CPU {}", percent(cpu)),
            workers => format!("CPU {} (busiest of {workers})", percent(cpu)),
        },
    );
    Line::from(format!(
        "Generator   lag p99 {lag}   {cpu}   {}",
        number::counted(picture.run.connections, "connection")
    ))
}

fn validity_line(picture: &Picture) -> Line<'static> {
    let (state, why) = picture.run.signs.worst();
    let color = match state {
        Validity::Valid => Color::Green,
        Validity::Suspect => Color::Yellow,
        Validity::Invalid => Color::Red,
    };
    let name = Span::styled(state.name(), picture.tone(color).bold());
    Line::from(vec![Span::raw("So far      "), name, Span::raw(format!(": {why}"))])
}

fn keys_line(picture: &Picture) -> Line<'static> {
    if let Phase::Stopping(true) = picture.run.phase {
        return Line::from("q again ends the run at once; requests in flight count as censored");
    }
    if let Some(warning) = picture.warning() {
        return Line::styled(format!("warning: {}", on_one_line(warning)), picture.tone(Color::Yellow));
    }
    let unit = picture.unit().map_or("auto", |unit| unit.name());
    let bars = if picture.bar_is_chosen() { "fixed" } else { "auto" };
    Line::from(format!("q quit   + - a width of bars ({bars})   u unit of times ({unit})"))
}

//! How the screen is laid out.
//!
//! ```text
//! title
//! progress
//! rate over time        | times of the last second
//! times over time       | responses and errors
//! generator
//! validity so far
//! keys
//! ```
//!
//! Small terminals lose the charts first. Does not change the state of the screen.

use knee_core::plan::{Executor, Plan};
use knee_core::schedule::Arrivals;
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_report::number;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Gauge, Paragraph};

use super::panel;
use super::screen::{Phase, Screen};
use crate::live::figure::{clock, percent, rate, short, time_or_dash};
use crate::problem::on_one_line;

/// Narrower or lower than this there is no room for charts.
const CHARTS: (u16, u16) = (64, 16);
/// From this width on response and service time have charts of their own.
const WIDE: u16 = 120;

/// Draws everything at `now` on the screen's clock.
pub fn frame(screen: &mut Screen, frame: &mut Frame, now: Nanos) {
    screen.is_shown();
    let screen = &*screen;
    let area = frame.area();
    if area.is_empty() {
        return;
    }
    let rows =
        [1, 1, 0, 1, 1, 1].map(|rows| if rows == 0 { Constraint::Min(0) } else { Constraint::Length(rows) });
    let [title, progress, body, generator, validity, keys] = Layout::vertical(rows).areas(area);
    frame.render_widget(title_line(screen, title.width), title);
    draw_progress(screen, frame, progress, now);
    if area.width < CHARTS.0 || area.height < CHARTS.1 {
        frame.render_widget(Paragraph::new(panel::figures(screen)), body);
    } else {
        draw_body(screen, frame, body);
    }
    frame.render_widget(generator_line(screen), generator);
    frame.render_widget(validity_line(screen), validity);
    frame.render_widget(keys_line(screen), keys);
}

fn draw_body(screen: &Screen, frame: &mut Frame, area: Rect) {
    let [above, below] = Layout::vertical([Constraint::Percentage(45), Constraint::Fill(1)]).areas(area);
    let right = Constraint::Length(40.max(area.width / 4));
    let [rates, figures] = Layout::horizontal([Constraint::Fill(1), right]).areas(above);
    let [times, answers] = Layout::horizontal([Constraint::Fill(1), right]).areas(below);
    panel::draw_rates(screen, frame, rates);
    panel::draw_figures(screen, frame, figures);
    if area.width >= WIDE {
        let [response, service] = Layout::horizontal([Constraint::Fill(1); 2]).areas(times);
        panel::draw_times(screen, frame, response, panel::Times::Response);
        panel::draw_times(screen, frame, service, panel::Times::Service);
    } else {
        panel::draw_times(screen, frame, times, panel::Times::Both);
    }
    panel::draw_answers(screen, frame, answers);
}

/// Target, and at the right the load.
fn title_line(screen: &Screen, width: u16) -> Line<'static> {
    let Some(head) = &screen.head else { return Line::from("knee") };
    let title = on_one_line(&head.title);
    let load = load(&head.plan);
    let gap = usize::from(width).saturating_sub(title.chars().count() + load.chars().count());
    if gap == 0 {
        return Line::from(vec![Span::styled(title, Style::new().bold()), Span::raw(" "), Span::raw(load)]);
    }
    Line::from(vec![Span::styled(title, Style::new().bold()), Span::raw(" ".repeat(gap)), Span::raw(load)])
}

/// The load in words.
fn load(plan: &Plan) -> String {
    let [scenario] = &plan.scenarios[..] else { return format!("{} scenarios", plan.scenarios.len()) };
    match &scenario.executor {
        Executor::Closed { vus: users } if users.stages.is_empty() => {
            format!("closed, {} connections", number::count(u64::from(scenario.users_max())))
        }
        Executor::Closed { vus: users } => format!("closed, up to {} connections", short(users.peak())),
        Executor::Open { rate: curve, arrivals, users_max } => {
            let upto = if curve.stages.is_empty() { "" } else { "up to " };
            let kind = match arrivals {
                Arrivals::Uniform | Arrivals::Numbered { .. } => "",
                Arrivals::Poisson { .. } => " Poisson",
            };
            let connections = number::count(u64::from(*users_max));
            format!("open, {upto}{}{kind} over {connections} connections", rate(curve.peak()))
        }
    }
}

fn draw_progress(screen: &Screen, frame: &mut Frame, area: Rect, now: Nanos) {
    let (share, left) = screen.progress(now);
    let label = progress_label(screen, now, share, left);
    let gauge = Gauge::default().ratio(share).label(label).use_unicode(true);
    let gauge =
        if screen.color { gauge.gauge_style(Style::new().fg(Color::Cyan).bg(Color::Black)) } else { gauge };
    frame.render_widget(gauge, area);
}

fn progress_label(screen: &Screen, now: Nanos, share: f64, left: Option<Nanos>) -> String {
    let elapsed = clock(screen.elapsed(now));
    let Some(plan) = screen.head.as_ref().map(|head| &head.plan) else { return "connecting".to_owned() };
    match screen.phase {
        Phase::Waiting => "connecting".to_owned(),
        Phase::Stopping(_) => format!("{elapsed}, waiting for requests in flight"),
        Phase::Loading => {
            let done = match (plan.duration(), plan.requests()) {
                (Some(duration), _) => format!("{elapsed} of {}", clock(duration)),
                (None, Some(requests)) => {
                    format!(
                        "{} of {} requests, {elapsed}",
                        number::count(screen.ended()),
                        number::count(requests)
                    )
                }
                (None, None) => elapsed,
            };
            let left = left.map(|left| format!(", {} left", clock(left))).unwrap_or_default();
            let warm_up = screen.head.as_ref().is_some_and(|head| screen.elapsed(now) < head.measured_from);
            let warm_up = if warm_up { ", warming up" } else { "" };
            format!("{} {done}{left}{warm_up}", percent(share))
        }
    }
}

fn generator_line(screen: &Screen) -> Line<'static> {
    let Some(last) = &screen.last else { return Line::from("") };
    let lag = time_or_dash(last.generator_lag_p99, screen.unit);
    let cpu = last.generator.worker_cpu.map_or_else(
        || "CPU -".to_owned(),
        |cpu| match last.generator.workers {
            1 => format!("CPU {}", percent(cpu)),
            workers => format!("CPU {} (busiest of {workers})", percent(cpu)),
        },
    );
    Line::from(format!(
        "Generator   lag p99 {lag}   {cpu}   {} connections",
        number::count(screen.connections)
    ))
}

fn validity_line(screen: &Screen) -> Line<'static> {
    let (state, why) = screen.signs.worst();
    let color = match state {
        Validity::Valid => Color::Green,
        Validity::Suspect => Color::Yellow,
        Validity::Invalid => Color::Red,
    };
    let name = Span::styled(state.name(), screen.tone(color).bold());
    Line::from(vec![Span::raw("So far      "), name, Span::raw(format!(": {why}"))])
}

fn keys_line(screen: &Screen) -> Line<'static> {
    if let Phase::Stopping(true) = screen.phase {
        return Line::from("q again ends the run at once; requests in flight count as censored");
    }
    if let Some(warning) = screen.warning() {
        return Line::styled(format!("warning: {}", on_one_line(warning)), screen.tone(Color::Yellow));
    }
    let unit = screen.unit.map_or("auto", |unit| unit.name());
    let bars = if screen.bar_is_chosen() { "fixed" } else { "auto" };
    Line::from(format!("q quit   + - a width of bars ({bars})   u unit of times ({unit})"))
}

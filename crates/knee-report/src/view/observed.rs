//! What observers saw over time, as lines: a few charts per source, of the figures that show most about a load.
//!
//! Counters become rates, and counts of samples become means. Draws nothing and judges nothing. The JSON has every figure.

use knee_core::observation::{Observations, Series, SeriesKind, SourceKind};
use knee_core::unit::Nanos;

/// Most points of a line.
const POINTS_MAX: usize = 90;
/// Most lines of a chart.
const LINES_MAX: usize = 5;
/// Most charts of a run: a page stays small.
const COURSES_MAX: usize = 12;
/// Bytes of the unit in which charts show them.
const MIB: f64 = 1_048_576.0;

/// Figures of a source that belong together, over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// What they are.
    pub title: &'static str,
    /// Their unit, in words.
    pub unit: &'static str,
    /// The greatest first.
    pub lines: Vec<CourseLine>,
    /// Lines that are left out, because there are too many.
    pub left_out: usize,
}

/// A figure over time.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseLine {
    /// Its name: foreign text. Empty for the only line of a chart.
    pub name: String,
    /// Seconds since the start of the run, ascending, with the figure.
    pub points: Vec<(f64, f64)>,
}

/// How a figure is made of its series.
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// How much a counter rises per second.
    PerSecond,
    /// The level of a gauge, divided by this.
    Level(f64),
    /// How much a counter rises per sample, which the series of this name counts.
    PerSample(&'static str),
}

/// A chart of a kind of source: the names of its series, and the labels that are left out.
#[derive(Clone, Copy)]
struct Shown {
    kind: SourceKind,
    title: &'static str,
    unit: &'static str,
    names: &'static [&'static str],
    without: &'static [&'static str],
    measure: Measure,
}

const fn shown(
    kind: SourceKind,
    (title, unit): (&'static str, &'static str),
    names: &'static [&'static str],
    measure: Measure,
) -> Shown {
    Shown { kind, title, unit, names, without: &[], measure }
}

const fn except(shown: Shown, without: &'static [&'static str]) -> Shown {
    Shown { without, ..shown }
}

const SHOWN: &[Shown] = &[
    except(
        shown(SourceKind::Host, ("CPU time", "CPUs in use"), &["host.cpu.time"], Measure::PerSecond),
        &["idle", "iowait"],
    ),
    shown(
        SourceKind::Host,
        ("Disks", "share of the time that is busy"),
        &["host.disk.busy"],
        Measure::PerSecond,
    ),
    shown(
        SourceKind::Process,
        ("CPU time", "CPUs in use"),
        &["process.cpu.user", "process.cpu.system"],
        Measure::PerSecond,
    ),
    shown(SourceKind::Process, ("Memory", "MiB"), &["process.memory.resident"], Measure::Level(MIB)),
    except(
        shown(
            SourceKind::Postgres,
            ("Sessions", "sessions, mean"),
            &["activity.state"],
            Measure::PerSample("activity.samples"),
        ),
        &["idle"],
    ),
    shown(
        SourceKind::Postgres,
        ("What active sessions wait for", "sessions, mean"),
        &["activity.wait"],
        Measure::PerSample("activity.samples"),
    ),
    shown(
        SourceKind::Postgres,
        ("Transactions", "transactions/s"),
        &["database.commits", "database.rollbacks"],
        Measure::PerSecond,
    ),
    shown(SourceKind::Redis, ("Commands", "commands/s"), &["redis.commands"], Measure::PerSecond),
    shown(
        SourceKind::Redis,
        ("CPU time of the main thread", "CPUs in use"),
        &["redis.cpu.main.user", "redis.cpu.main.system"],
        Measure::PerSecond,
    ),
    shown(SourceKind::Redis, ("Memory", "MiB"), &["redis.memory.used"], Measure::Level(MIB)),
    shown(
        SourceKind::Sqlite,
        ("Locks", "share of looks in which it is held"),
        &["sqlite.lock.held"],
        Measure::PerSample("sqlite.lock.samples"),
    ),
    shown(
        SourceKind::Sqlite,
        ("Transactions that write", "transactions/s"),
        &["sqlite.transactions"],
        Measure::PerSecond,
    ),
    shown(SourceKind::PgBouncer, ("Clients", "clients"), &["pgbouncer.clients"], Measure::Level(1.0)),
    shown(SourceKind::PgBouncer, ("Servers", "connections"), &["pgbouncer.servers"], Measure::Level(1.0)),
    shown(SourceKind::Nginx, ("Connections", "connections"), &["nginx.connections"], Measure::Level(1.0)),
    shown(SourceKind::Nginx, ("Requests", "requests/s"), &["nginx.requests"], Measure::PerSecond),
    except(
        shown(
            SourceKind::Profile,
            ("CPU time by function", "samples/s"),
            &["profile.samples"],
            Measure::PerSecond,
        ),
        &["(other)"],
    ),
];

/// The courses of each source, in the order of the sources.
pub fn courses(seen: &Observations) -> Vec<Vec<Course>> {
    let mut room = COURSES_MAX;
    let of_source = |(index, source): (usize, &knee_core::observation::Source)| {
        let wanted = SHOWN.iter().filter(|shown| shown.kind == source.kind);
        let found: Vec<Course> = wanted.filter_map(|shown| course(seen, index, shown)).take(room).collect();
        room -= found.len();
        found
    };
    seen.sources.iter().enumerate().map(of_source).collect()
}

fn course(seen: &Observations, source: usize, shown: &Shown) -> Option<Course> {
    let samples = match shown.measure {
        Measure::PerSample(name) => Some(seen.series(source, name, "")?),
        _ => None,
    };
    let belongs = |series: &&Series| {
        series.source == source
            && shown.names.contains(&series.name.as_str())
            && !shown.without.contains(&series.label.as_str())
    };
    let mut lines: Vec<CourseLine> = seen
        .series
        .iter()
        .filter(belongs)
        .map(|series| CourseLine {
            name: name(series, shown),
            points: points(series, samples, shown.measure),
        })
        .filter(|line| line.points.iter().any(|(_, figure)| *figure > 0.0))
        .collect();
    lines.sort_by(|one, other| area(other).total_cmp(&area(one)));
    let left_out = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    (!lines.is_empty()).then_some(Course { title: shown.title, unit: shown.unit, lines, left_out })
}

/// What is special about a series in its chart: its label, or the end of its name; nothing if it is the only one.
fn name(series: &Series, shown: &Shown) -> String {
    let end = series.name.rsplit('.').next().unwrap_or_default();
    match (shown.names.len() > 1, series.label.is_empty()) {
        (true, true) => end.to_owned(),
        (true, false) => format!("{end} ({})", series.label),
        (false, false) => series.label.clone(),
        (false, true) => String::new(),
    }
}

/// The sum of a line's figures.
fn area(line: &CourseLine) -> f64 {
    let steps = line.points.windows(2);
    steps.map(|pair| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1)).sum()
}

fn points(series: &Series, samples: Option<&Series>, measure: Measure) -> Vec<(f64, f64)> {
    match (measure, series.kind) {
        (Measure::Level(unit), SeriesKind::Gauge) => levels(series, unit),
        (Measure::PerSecond, SeriesKind::Counter) => {
            steps(series, |from, to| Some(to.since(from).as_secs_f64()))
        }
        (Measure::PerSample(_), SeriesKind::Counter) => {
            steps(series, |from, to| samples.and_then(|samples| samples.rise(from, to)))
        }
        _ => Vec::new(),
    }
}

/// The greatest level of each stretch, at the moment at which it was read.
fn levels(series: &Series, unit: f64) -> Vec<(f64, f64)> {
    let piece = series.points.len().div_ceil(POINTS_MAX).max(1);
    let greatest = |pieces: &[(Nanos, f64)]| {
        pieces
            .iter()
            .copied()
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .map(|(at, level)| (at, level / unit))
    };
    let found = series.points.chunks(piece).filter_map(greatest);
    found.map(|(at, level)| (at.as_secs_f64(), level)).collect()
}

/// The rises of a counter, each divided by what `by` says of its time, as steps: a figure holds from the beginning of its
/// time to the end. Without an amount to divide by there is no step.
fn steps(series: &Series, by: impl Fn(Nanos, Nanos) -> Option<f64>) -> Vec<(f64, f64)> {
    let piece = series.points.len().div_ceil(POINTS_MAX / 2).max(1);
    let mut moments: Vec<Nanos> = series.points.iter().step_by(piece).map(|(at, _)| *at).collect();
    moments.extend(series.points.last().map(|(at, _)| *at).filter(|last| moments.last() != Some(last)));
    let figure = |pair: &[Nanos]| {
        let divided = series.rise(pair[0], pair[1])? / by(pair[0], pair[1]).filter(|by| *by > 0.0)?;
        let (from, to) = (pair[0].as_secs_f64(), pair[1].as_secs_f64());
        divided.is_finite().then_some([(from, divided), (to, divided)])
    };
    moments.windows(2).filter_map(figure).flatten().collect()
}

#[cfg(test)]
mod tests {
    use knee_core::observation::{FigureUnit, Source, SourceState};

    use super::*;

    fn source(kind: SourceKind) -> Source {
        Source {
            name: "a".into(),
            kind,
            version: None,
            state: SourceState::Read,
            without: Vec::new(),
            left_out: 0,
        }
    }

    fn series(name: &str, label: &str, kind: SeriesKind, points: &[(u64, f64)]) -> Series {
        let points = points.iter().map(|(at, figure)| (Nanos::from_secs(*at), *figure)).collect();
        Series { source: 0, name: name.into(), label: label.into(), unit: FigureUnit::Count, kind, points }
    }

    fn observed(kind: SourceKind, series: Vec<Series>) -> Vec<Course> {
        courses(&Observations { sources: vec![source(kind)], series, texts: Vec::new() }).remove(0)
    }

    #[test]
    fn a_counter_is_shown_as_what_it_rises_per_second_and_idle_time_is_no_use() {
        let user = series("host.cpu.time", "user", SeriesKind::Counter, &[(0, 10.0), (2, 13.0), (3, 13.5)]);
        let idle = series("host.cpu.time", "idle", SeriesKind::Counter, &[(0, 0.0), (3, 5.0)]);
        let found = observed(SourceKind::Host, vec![user, idle]);
        assert_eq!((found.len(), found[0].title, found[0].lines.len()), (1, "CPU time", 1));
        assert_eq!(found[0].lines[0].name, "user");
        assert_eq!(found[0].lines[0].points, [(0.0, 1.5), (2.0, 1.5), (2.0, 0.5), (3.0, 0.5)]);
    }

    #[test]
    fn sessions_are_the_mean_of_the_samples_and_those_that_do_nothing_are_left_out() {
        let samples = series("activity.samples", "", SeriesKind::Counter, &[(0, 0.0), (1, 10.0), (2, 20.0)]);
        let active =
            series("activity.state", "active", SeriesKind::Counter, &[(0, 0.0), (1, 40.0), (2, 60.0)]);
        let idle = series("activity.state", "idle", SeriesKind::Counter, &[(0, 0.0), (1, 90.0), (2, 180.0)]);
        let found = observed(SourceKind::Postgres, vec![samples, active, idle]);
        assert_eq!(found[0].lines.len(), 1);
        assert_eq!(found[0].lines[0].points, [(0.0, 4.0), (1.0, 4.0), (1.0, 2.0), (2.0, 2.0)]);
    }

    #[test]
    fn many_lines_are_cut_to_the_greatest_and_their_number_is_known() {
        let lines = (0..9_u32).map(|place| {
            let name = format!("event {place}");
            series("activity.wait", &name, SeriesKind::Counter, &[(0, 0.0), (1, f64::from(place))])
        });
        let samples = series("activity.samples", "", SeriesKind::Counter, &[(0, 0.0), (1, 1.0)]);
        let found = observed(SourceKind::Postgres, lines.chain([samples]).collect());
        assert_eq!(
            (found[0].lines[0].name.as_str(), found[0].lines.len(), found[0].left_out),
            ("event 8", 5, 3)
        );
    }

    #[test]
    fn a_long_run_keeps_the_peaks_of_levels_and_the_whole_rise_of_counters() {
        let ends: Vec<(u64, f64)> = (0..10_000).map(|at| (at, if at == 5_001 { 9e6 } else { MIB })).collect();
        let memory = series("process.memory.resident", "", SeriesKind::Gauge, &ends);
        let ends: Vec<(u64, f64)> = (0..10_000).map(|at| (at, at as f64 * 0.5)).collect();
        let cpu = series("process.cpu.user", "", SeriesKind::Counter, &ends);
        let found = observed(SourceKind::Process, vec![memory, cpu]);
        let points =
            |title: &str| &found.iter().find(|course| course.title == title).unwrap().lines[0].points;
        assert!(points("Memory").iter().any(|(_, level)| (*level - 9e6 / MIB).abs() < 1e-9));
        assert!(points("CPU time").iter().all(|(_, cpus)| (cpus - 0.5).abs() < 1e-9));
        assert!(found.iter().all(|course| course.lines[0].points.len() <= 2 * POINTS_MAX));
    }

    #[test]
    fn a_source_that_was_never_read_has_no_course() {
        assert_eq!(observed(SourceKind::Redis, Vec::new()), []);
    }
}

//! What observers saw beside a run, in a few figures per source.
//!
//! Shows what was read and draws no conclusion. The JSON has every figure.

use std::cmp::Ordering;

use knee_core::observation::{
    OBSERVING_COMMANDS, Observations, Series, SeriesKind, Source, SourceKind, SourceState,
};
use knee_core::record::{Point, Run};
use knee_core::unit::Nanos;

use super::moment;

/// Waits, statements and commands that are shown per source.
const TOP: usize = 3;

/// CPUs that another program of the machine uses, from which on it is shown.
const PROGRAM_MIN: f64 = 0.1;

/// Functions of a profile that are shown.
const FUNCTIONS: usize = 5;

/// One source.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// Its name. Foreign text, as everything here: it must pass through [`crate::clean`] before it is shown.
    pub name: String,
    /// Its version, if it is known.
    pub version: Option<String>,
    /// Why it could not be read, and since when if it was read before.
    pub trouble: Option<(Option<Nanos>, String)>,
    /// What it could not be asked.
    pub without: Vec<String>,
    /// What is to be said of how it was read.
    pub note: Option<&'static str>,
    /// The figures that matter, most important first.
    pub facts: Vec<Fact>,
}

/// A figure of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// How much.
    pub amount: Amount,
    /// A second figure of the same thing, with what it is.
    pub more: Option<(Amount, &'static str)>,
}

/// A figure with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A share, 0 to 1.
    Share(f64),
    /// A time in ns.
    Time(f64),
    /// A size in bytes.
    Bytes(f64),
    /// A number of something.
    Count(f64),
}

/// The sources of a run, in the order in which they were asked for.
pub fn beside(run: &Run) -> Vec<Beside> {
    let seen = &run.observations;
    let sources = seen.sources.iter().enumerate();
    sources.map(|(index, source)| of_source(&Reader { seen, index, run }, source)).collect()
}

fn of_source(reader: &Reader<'_>, source: &Source) -> Beside {
    let trouble = match &source.state {
        SourceState::Read => None,
        SourceState::Refused { reason } => Some((None, reason.clone())),
        SourceState::Lost { at, reason } => Some((Some(*at), reason.clone())),
    };
    let facts = match source.kind {
        SourceKind::Host => host(reader),
        SourceKind::Process => process(reader),
        SourceKind::Postgres => postgres(reader),
        SourceKind::Redis => redis(reader),
        SourceKind::Sqlite => sqlite(reader),
        SourceKind::PgBouncer => pgbouncer(reader),
        SourceKind::Nginx => nginx(reader),
        SourceKind::Prometheus => prometheus(reader),
        SourceKind::Profile => profile(reader),
    };
    Beside {
        name: source.name.clone(),
        version: source.version.clone(),
        trouble,
        without: source.without.clone(),
        note: as_superuser(reader),
        facts,
    }
}

/// What is to be said of a role that could do more than read.
fn as_superuser(reader: &Reader<'_>) -> Option<&'static str> {
    let role = reader.seen.text(reader.index, "role", "");
    (role == Some("superuser")).then_some("as a superuser: pg_monitor would do")
}

/// Figures of one source of a run.
struct Reader<'r> {
    seen: &'r Observations,
    index: usize,
    run: &'r Run,
}

/// How much a counter rose, and between which readings.
#[derive(Clone, Copy)]
struct Rise {
    amount: f64,
    from: Nanos,
    to: Nanos,
}

impl Rise {
    /// Per second.
    fn rate(self) -> Option<f64> {
        let seconds = self.to.since(self.from).as_secs_f64();
        (seconds > 0.0).then(|| self.amount / seconds)
    }
}

impl<'r> Reader<'r> {
    fn all(&self, name: &'static str) -> impl Iterator<Item = &'r Series> + use<'r> {
        let index = self.index;
        self.seen.series.iter().filter(move |series| series.source == index && series.name == name)
    }

    /// From the last reading of the warm-up to the last one of the run.
    fn rise(&self, series: &Series) -> Option<Rise> {
        let from = self.run.head.measured_from;
        let amount = series.rise(from, Nanos::MAX)?;
        let first =
            series.points.iter().rev().find(|(at, _)| *at <= from).or_else(|| series.points.first())?;
        Some(Rise { amount, from: first.0, to: series.points.last()?.0 })
    }

    fn counter(&self, name: &'static str, label: &str) -> Option<Rise> {
        self.all(name).find(|series| series.label == label).and_then(|series| self.rise(series))
    }

    fn rate(&self, name: &'static str, label: &str) -> Option<f64> {
        self.counter(name, label)?.rate()
    }

    /// Per request that ended between the same readings.
    fn per_request(&self, rise: Rise) -> Option<f64> {
        let ended = moment::within(&self.run.series, rise.from, rise.to, Point::ended);
        (ended > 0.0).then(|| rise.amount / ended)
    }

    fn mean(&self, series: &Series) -> Option<f64> {
        series.mean(self.run.head.measured_from, Nanos::MAX)
    }

    fn highest(&self, name: &'static str, label: &str) -> Option<f64> {
        let series = self.all(name).find(|series| series.label == label)?;
        series.points.iter().map(|point| point.1).reduce(f64::max)
    }

    /// Labels of a counter by how much each rose, most first.
    fn top(&self, name: &'static str) -> Vec<(&'r str, Rise)> {
        let risen = self.all(name).filter_map(|series| Some((series.label.as_str(), self.rise(series)?)));
        let mut risen: Vec<_> = risen.filter(|(_, rise)| rise.amount > 0.0).collect();
        risen.sort_by(|one, other| other.1.amount.total_cmp(&one.1.amount).then(one.0.cmp(other.0)));
        risen
    }
}

fn fact(name: impl Into<String>, amount: Amount) -> Fact {
    Fact { name: name.into(), amount, more: None }
}

fn host(reader: &Reader<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let busy: Vec<f64> = reader.all("host.cpu.busy").filter_map(|one| reader.rise(one)?.rate()).collect();
    if !busy.is_empty() {
        facts.push(fact("CPUs busy", Amount::Share((busy.iter().sum::<f64>() / busy.len() as f64).min(1.0))));
    }
    let waited = reader.rate("host.pressure.cpu.some", "").map(|share| share.min(1.0));
    facts.extend(waited.map(|share| fact("some thread waited for a CPU", Amount::Share(share))));
    let programs = reader.top("host.program.cpu").into_iter();
    let programs = programs.filter_map(|(program, rise)| Some((program, rise.rate()?)));
    let named = programs.filter(|(_, cpus)| *cpus >= PROGRAM_MIN).take(TOP);
    facts.extend(named.map(|(program, cpus)| fact(format!("CPUs used by {program}"), Amount::Count(cpus))));
    if let Some((disk, rate)) =
        reader.top("host.disk.busy").first().and_then(|(disk, rise)| Some((disk, rise.rate()?)))
    {
        facts.push(fact(format!("disk {disk} busy"), Amount::Share(rate.min(1.0))));
    }
    for (name, words) in [
        ("host.tcp.retransmits", "TCP segments retransmitted"),
        ("host.tcp.listen_overflows", "connections refused by a full queue"),
        ("host.faults.major", "page faults that needed a disk"),
    ] {
        let rise = reader.counter(name, "").filter(|rise| rise.amount > 0.0);
        facts.extend(rise.map(|rise| fact(words, Amount::Count(rise.amount))));
    }
    facts
}

fn process(reader: &Reader<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let (user, system) = (reader.counter("process.cpu.user", ""), reader.counter("process.cpu.system", ""));
    if let Some((user, system)) = user.zip(system) {
        // A counter that stays has other points than one that rises: the longer time has both.
        let both = Rise {
            amount: user.amount + system.amount,
            from: user.from.min(system.from),
            to: user.to.max(system.to),
        };
        let per_request =
            reader.per_request(both).map(|seconds| (Amount::Time(seconds * 1e9), "per request"));
        facts.extend(both.rate().map(|cpus| Fact {
            name: "CPUs used".to_owned(),
            amount: Amount::Count(cpus),
            more: per_request,
        }));
    }
    if let Some((thread, rate)) =
        reader.top("process.thread.cpu").first().and_then(|(thread, rise)| Some((thread, rise.rate()?)))
    {
        let name = thread.split_once(' ').map_or(*thread, |(_, name)| name);
        facts.push(fact(format!("busiest thread, {name}"), Amount::Share(rate.min(1.0))));
    }
    let waited = reader.counter("process.run_delay", "").and_then(|rise| reader.per_request(rise));
    facts.extend(waited.map(|seconds| fact("waited for a CPU, per request", Amount::Time(seconds * 1e9))));
    let memory = reader.highest("process.memory.resident", "");
    facts.extend(memory.map(|bytes| fact("memory, highest", Amount::Bytes(bytes))));
    let limited = reader
        .counter("process.cgroup.cpu.throttled", "")
        .zip(reader.counter("process.cgroup.cpu.periods", ""))
        .filter(|(_, periods)| periods.amount > 0.0);
    facts.extend(limited.map(|(throttled, periods)| {
        fact("periods with CPU throttling", Amount::Share((throttled.amount / periods.amount).min(1.0)))
    }));
    facts
}

fn postgres(reader: &Reader<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let samples = reader.counter("activity.samples", "").map(|rise| rise.amount).filter(|count| *count > 0.0);
    let mean = |label: &str| Some(reader.counter("activity.state", label)?.amount / samples?);
    for (state, words) in
        [("active", "active backends, mean"), ("idle in transaction", "idle in transaction, mean")]
    {
        facts.extend(mean(state).filter(|mean| *mean > 0.0).map(|mean| fact(words, Amount::Count(mean))));
    }
    let waits = reader.top("activity.wait");
    let all: f64 = waits.iter().map(|(_, rise)| rise.amount).sum();
    let shown = waits.iter().filter(|(_, rise)| rise.amount >= all / 100.0).take(TOP);
    facts.extend(shown.map(|(wait, rise)| {
        let name =
            if *wait == "CPU" { "active without a wait".to_owned() } else { format!("waits for {wait}") };
        fact(name, Amount::Share(rise.amount / all))
    }));
    for (id, rise) in reader.top("statement.exec_time").into_iter().take(TOP) {
        let text = reader.seen.text(reader.index, "statement.text", id).unwrap_or(id);
        let calls = reader.counter("statement.calls", id).and_then(|calls| reader.per_request(calls));
        facts.extend(reader.per_request(rise).map(|seconds| Fact {
            name: text.to_owned(),
            amount: Amount::Time(seconds * 1e9),
            more: calls.map(|calls| (Amount::Count(calls), "calls per request")),
        }));
    }
    let blocks = |name: &'static str| {
        reader.all(name).filter_map(|one| reader.rise(one)).map(|rise| rise.amount).sum::<f64>()
    };
    let (hit, read) = (blocks("database.blocks.hit"), blocks("database.blocks.read"));
    if hit + read > 0.0 {
        facts.push(fact("blocks found in memory", Amount::Share(hit / (hit + read))));
    }
    facts
}

fn redis(reader: &Reader<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let thread =
        |user: &'static str, system: &'static str| Some(reader.rate(user, "")? + reader.rate(system, "")?);
    let main = thread("redis.cpu.main.user", "redis.cpu.main.system");
    let main = main.or_else(|| thread("redis.cpu.user", "redis.cpu.system"));
    facts.extend(main.map(|share| fact("main thread busy", Amount::Share(share.min(1.0)))));
    let commands = reader.top("redis.command.time").into_iter();
    let commands = commands.filter(|(command, _)| !OBSERVING_COMMANDS.contains(command));
    for (command, rise) in commands.take(TOP) {
        let calls =
            reader.counter("redis.command.calls", command).and_then(|calls| reader.per_request(calls));
        facts.extend(reader.per_request(rise).map(|seconds| Fact {
            name: format!("{command}, CPU time per request"),
            amount: Amount::Time(seconds * 1e9),
            more: calls.map(|calls| (Amount::Count(calls), "calls per request")),
        }));
    }
    let amount = |name: &'static str| reader.counter(name, "").map_or(0.0, |rise| rise.amount);
    let (hits, misses) = (amount("redis.keyspace.hits"), amount("redis.keyspace.misses"));
    if hits + misses > 0.0 {
        facts.push(fact("keys found", Amount::Share(hits / (hits + misses))));
    }
    for (name, words) in [("redis.keys.evicted", "keys evicted"), ("redis.slow", "slow commands")] {
        let count = amount(name);
        facts.extend((count > 0.0).then(|| fact(words, Amount::Count(count))));
    }
    facts
}

fn sqlite(reader: &Reader<'_>) -> Vec<Fact> {
    let looks = reader.counter("sqlite.lock.samples", "").filter(|rise| rise.amount > 0.0);
    let share = |label: &str| Some(reader.counter("sqlite.lock.held", label)?.amount / looks?.amount);
    let mut facts = Vec::new();
    for (lock, words) in
        [("write", "write lock held"), ("reserved", "write lock held"), ("exclusive", "exclusive lock held")]
    {
        facts.extend(share(lock).filter(|share| *share > 0.0).map(|share| fact(words, Amount::Share(share))));
    }
    facts.extend(
        reader.highest("sqlite.wal.bytes", "").map(|bytes| fact("WAL, highest", Amount::Bytes(bytes))),
    );
    facts
}

fn pgbouncer(reader: &Reader<'_>) -> Vec<Fact> {
    let clients =
        reader.all("pgbouncer.clients").filter_map(|one| Some((one.label.as_str(), reader.mean(one)?)));
    let mut clients: Vec<_> = clients.filter(|(_, mean)| *mean > 0.0).collect();
    clients.sort_by(|one, other| by_size(one.1, other.1));
    let shown = clients.into_iter().take(TOP);
    shown.map(|(label, mean)| fact(format!("clients of {label}, mean"), Amount::Count(mean))).collect()
}

fn nginx(reader: &Reader<'_>) -> Vec<Fact> {
    let requests =
        reader.rate("nginx.requests", "").map(|rate| fact("requests per second", Amount::Count(rate)));
    let active = reader.highest("nginx.connections", "active");
    requests.into_iter().chain(active.map(|most| fact("connections, highest", Amount::Count(most)))).collect()
}

/// The functions with most CPU time, the time in the kernel, of how many samples that is, and the system calls.
fn profile(reader: &Reader<'_>) -> Vec<Fact> {
    let functions = reader.top("profile.samples");
    let all: f64 = functions.iter().map(|(_, rise)| rise.amount).sum();
    let named = functions.iter().filter(|(function, _)| *function != "(other)").take(FUNCTIONS);
    let mut facts: Vec<Fact> =
        named.map(|(function, rise)| fact(*function, Amount::Share(rise.amount / all))).collect();
    if all > 0.0 {
        let kernel = reader.counter("profile.modules", "kernel").filter(|rise| rise.amount > 0.0);
        let share = |rise: Rise| fact("in the kernel, all together", Amount::Share(rise.amount / all));
        facts.extend(kernel.map(share));
        // Shares of few samples are guesses.
        facts.push(fact("samples of CPU time", Amount::Count(all)));
    }
    for (kind, rise) in reader.top("profile.syscalls").into_iter().take(TOP) {
        let calls = reader.per_request(rise).filter(|calls| *calls > 0.0);
        let name = format!("system calls, {}, per request", kind.replace('_', " or "));
        facts.extend(calls.map(|calls| fact(name, Amount::Count(calls))));
    }
    facts
}

/// Counts the metrics and the counters that rose; what they mean is unknown.
fn prometheus(reader: &Reader<'_>) -> Vec<Fact> {
    let own: Vec<_> = reader.seen.series.iter().filter(|series| series.source == reader.index).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let counters = own.iter().filter(|series| series.kind == SeriesKind::Counter);
    let rose = counters.filter_map(|series| reader.rise(series)).filter(|rise| rise.amount > 0.0).count();
    vec![Fact {
        name: "series".to_owned(),
        amount: Amount::Count(own.len() as f64),
        more: Some((Amount::Count(rose as f64), "counters rose")),
    }]
}

/// Larger first.
fn by_size(one: f64, other: f64) -> Ordering {
    other.total_cmp(&one)
}

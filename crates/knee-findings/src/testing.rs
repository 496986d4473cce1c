//! Made-up evidence for tests: a healthy run and healthy sources, to which a test adds a defect.
//!
//! The same everywhere: random numbers come from a fixed seed. Does not measure anything.

use knee_core::interval::Interval;
use knee_core::metric::{self, Contains, Key, Kind, Sink};
use knee_core::observation::{
    FigureUnit, Observations, Series, SeriesKind, Source, SourceKind, SourceState, Text,
};
use knee_core::outcome::Outcome;
use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use knee_core::record::run::RunBuilder;
use knee_core::record::{Build, Ending, Head, Machine, Run};
use knee_core::schedule::Curve;
use knee_core::tally::{EndpointTally, Phase};
use knee_core::unit::Nanos;

use crate::{CHANGES, Evidence, Finding, Report, examine};

/// Numbers that look random and are always the same (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub u64);

impl Dice {
    /// Evenly spread in 0 to 1, both excluded.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponential with this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -self.share().ln() * mean
    }
}

/// One request; times in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub endpoint: u32,
    pub wait: f64,
    pub receive: f64,
    pub connect: Option<f64>,
    pub tls: Option<f64>,
    pub status: u16,
    pub body: u64,
}

/// Seconds of a healthy run, and its requests per second.
pub(crate) const SECONDS: u64 = 30;
pub(crate) const RATE: u64 = 1_000;

/// A run and what was observed beside it.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub run: Run,
    pub observations: Observations,
    seconds: u64,
}

impl Scene {
    /// A healthy run.
    pub(crate) fn steady() -> Self {
        Self::with(|_, _, _| {})
    }

    /// A run whose requests are changed; the closure gets the second and the dice.
    pub(crate) fn with(change: impl FnMut(&mut Sample, u64, &mut Dice)) -> Self {
        Self::sized(SECONDS, |_| RATE, Curve::constant(10.0), change)
    }

    /// A closed run of so many seconds, with so many requests per second in each.
    pub(crate) fn sized(
        seconds: u64,
        rate: impl Fn(u64) -> u64,
        vus: Curve,
        mut change: impl FnMut(&mut Sample, u64, &mut Dice),
    ) -> Self {
        let mut dice = Dice(7);
        let mut builder = RunBuilder::new(head(seconds, vus));
        for second in 0..seconds {
            let mut interval = Interval {
                from: Nanos::from_secs(second),
                to: Nanos::from_secs(second + 1),
                ..Interval::default()
            };
            for number in 0..rate(second) {
                let wait = 0.002 + dice.exponential(0.003);
                let first = second == 0 && number < 10;
                let mut sample = Sample {
                    endpoint: 0,
                    wait,
                    receive: 0.000_05,
                    connect: first.then_some(0.000_2),
                    tls: None,
                    status: 200,
                    body: 600,
                };
                change(&mut sample, second, &mut dice);
                count(interval.measured.endpoint_mut(EndpointId(sample.endpoint)), &sample);
            }
            builder.add(&interval);
        }
        Self { run: builder.end(Ending::Completed), observations: Observations::default(), seconds }
    }

    /// The run and the observations.
    pub(crate) fn finish(self) -> (Run, Observations) {
        (self.run, self.observations)
    }

    /// What all rules say. Every remedy that is a change is in the list of them.
    pub(crate) fn report(&self) -> Report {
        let report = examine(&Evidence::of(&self.run, &self.observations));
        for finding in report.findings.iter().filter(|finding| finding.remedy.change().is_some()) {
            assert!(
                CHANGES.iter().any(|(code, _)| *code == finding.code),
                "{} is not in CHANGES",
                finding.code
            );
        }
        report
    }

    /// What the rule `code` found, at most one thing.
    pub(crate) fn found(&self, code: &str) -> Option<Finding> {
        let report = self.report();
        let not_run = report.could_not_run.iter().find(|rule| rule.code == code);
        assert!(not_run.is_none(), "{not_run:?}");
        let mut found = report.findings.into_iter().filter(|finding| finding.code == code);
        let first = found.next();
        assert_eq!(found.next(), None, "more than one");
        first
    }

    /// What the rule `code` lacks.
    pub(crate) fn lacks(&self, code: &str) -> Option<String> {
        self.report().could_not_run.into_iter().find(|rule| rule.code == code).map(|rule| rule.lacks)
    }

    /// Makes the load that of a script.
    pub(crate) fn script(&mut self) {
        let key = Key { metric: "http_reqs".into(), ..Key::default() };
        let sink = Sink::new(Kind::Counter);
        self.run.metrics.series.insert(key, metric::Series { contains: Contains::Default, adds: None, sink });
    }

    /// Adds a source.
    pub(crate) fn source(&mut self, kind: SourceKind, name: &str) -> usize {
        self.observations.sources.push(Source {
            name: name.into(),
            kind,
            version: None,
            state: SourceState::Read,
            without: Vec::new(),
            left_out: 0,
        });
        self.observations.sources.len() - 1
    }

    /// Adds a PostgreSQL server on which the application `shop` has so many connections, so many of them busy.
    pub(crate) fn pool(&mut self, size: f64, busy: f64) {
        let server = self.postgres();
        self.gauge(server, "activity.backends", "shop", size);
        self.gauge(server, "activity.backends.busy", "shop", busy);
    }

    /// Adds an idle machine with so many CPUs.
    pub(crate) fn host(&mut self, cpus: f64) -> usize {
        let host = self.source(SourceKind::Host, "host");
        self.gauge(host, "host.cpus", "", cpus);
        self.busy_host(host, 0.3);
        self.counter(host, "host.tcp.listen_overflows", "", 0.0);
        self.counter(host, "host.pressure.cpu.some", "", 0.02);
        host
    }

    /// Makes the machine this busy, 0 to 1.
    pub(crate) fn busy_host(&mut self, host: usize, share: f64) {
        let cpus = self.run_gauge(host, "host.cpus");
        self.counter(host, "host.cpu.time", "user", share * cpus * 0.7);
        self.counter(host, "host.cpu.time", "system", share * cpus * 0.3);
        self.counter(host, "host.cpu.time", "idle", (1.0 - share) * cpus);
    }

    /// Adds a healthy process of four threads.
    pub(crate) fn process(&mut self, name: &str) -> usize {
        let process = self.source(SourceKind::Process, name);
        self.counter(process, "process.cpu.user", "", 0.4);
        self.counter(process, "process.cpu.system", "", 0.2);
        self.gauge(process, "process.threads", "", 4.0);
        for thread in 0..4 {
            self.counter(process, "process.thread.cpu", &format!("7/{thread} worker"), 0.15);
        }
        self.counter(process, "process.io.write_chars", "", 800.0 * RATE as f64);
        self.counter(process, "process.io.write_calls", "", 1.1 * RATE as f64);
        process
    }

    /// Adds what a process asks of an endpoint, at ten looks per second.
    pub(crate) fn calling(&mut self, process: usize, endpoint: &str, calling: &Calling) {
        const LOOKS: f64 = 10.0;
        let calls = calling.per_response * RATE as f64;
        let waiting = LOOKS * calls * calling.seconds;
        let groups = LOOKS / 30.0;
        // What the endpoints before this one add to the variance of all stays.
        let before = self.observations.series(process, "process.calls.variance", "");
        let before = before.map_or(0.0, |series| series.points[1].1 - series.points[0].1);
        let variance = before + calling.spread * calls * calling.seconds * groups;
        for (name, per_second) in [
            ("looks", LOOKS),
            ("requests", 5.0 * LOOKS),
            ("ahead", LOOKS * calling.ahead),
            ("groups", groups),
            ("variance", variance),
        ] {
            self.counter(process, &format!("process.calls.{name}"), "", per_second);
        }
        for (name, per_second) in [
            ("waiting", waiting),
            ("unsettled", waiting * calling.unsettled),
            ("opened", 0.0),
            ("sent_bytes", calls * calling.sent),
            ("received_bytes", calls * calling.received),
            ("sent_segments", calls),
            ("received_segments", calls * calling.segments),
            ("spans", 3.0 * LOOKS),
            ("spans_alike", 3.0 * LOOKS * calling.alike),
            ("pending", waiting),
            ("pending_sent", waiting * (calling.at_once + 3.0)),
            ("pending_received", waiting * 3.0 * calling.segments),
            ("waiting_requests", LOOKS * calling.open_requests(5.0)),
        ] {
            self.counter(process, &format!("process.calls.{name}"), endpoint, per_second);
        }
        if calling.most > 0 {
            let label = format!("{endpoint} {}", calling.most);
            // Counters of tests begin at 100, and this one with its first look.
            let looks = |second: u64| (Nanos::from_secs(second), LOOKS * calling.full * second as f64);
            let points = (0..=self.seconds).map(looks).collect();
            self.points(process, "process.calls.waiting_looks", &label, SeriesKind::Counter, points);
        }
        self.gauge(process, "process.calls.connections", endpoint, 8.0);
    }

    /// Adds a Redis at ease.
    pub(crate) fn redis(&mut self) -> usize {
        let redis = self.source(SourceKind::Redis, "redis://127.0.0.1:6379");
        self.counter(redis, "redis.cpu.main.user", "", 0.05);
        self.counter(redis, "redis.cpu.main.system", "", 0.05);
        self.counter(redis, "redis.commands", "", 1.0 * RATE as f64);
        self.counter(redis, "redis.input_bytes", "", 40.0 * RATE as f64);
        self.counter(redis, "redis.command.calls", "get", 1.0 * RATE as f64);
        self.counter(redis, "redis.command.time", "get", 0.002);
        self.counter(redis, "redis.keyspace.hits", "", 0.95 * RATE as f64);
        self.counter(redis, "redis.keyspace.misses", "", 0.05 * RATE as f64);
        self.counter(redis, "redis.keys.evicted", "", 0.0);
        self.counter(redis, "redis.slow", "", 0.0);
        redis
    }

    /// Adds the page of a service whose SQLite connections are at ease: one lookup per request, and a writer that
    /// seldom waits.
    pub(crate) fn sqlite_page(&mut self) -> usize {
        let page = self.source(SourceKind::Prometheus, "http://127.0.0.1:8080/metrics");
        for (name, per_second) in [
            ("busy_total", 2.0),
            ("busy_wait_seconds_total", 0.004),
            ("busy_timeouts_total", 0.0),
            ("busy_timeout_wait_seconds_total", 0.0),
            ("write_transactions_total", 50.0),
            ("write_seconds_total", 0.05),
            ("upgrades_total", 50.0),
            ("upgrades_refused_total", 0.2),
            ("upgrades_rolled_back_total", 1.0),
        ] {
            self.counter(page, &format!("prometheus.knee_sqlite_{name}"), "", per_second);
        }
        self.sqlite_connection(page, "1", 0.9, 0.000_02);
        self.sqlite_connection(page, "2", 0.1, 0.000_02);
        self.sqlite_statement(page, "SELECT title FROM posts WHERE id = ?", 1.0, 0.000_02, 0.0);
        page
    }

    /// Adds or replaces a connection of such a page: its calls per request, and their mean time in seconds.
    pub(crate) fn sqlite_connection(&mut self, page: usize, number: &str, per_request: f64, seconds: f64) {
        let (calls, label) = (per_request * RATE as f64, format!("connection=\"{number}\""));
        self.counter(page, "prometheus.knee_sqlite_connection_calls_total", &label, calls);
        self.counter(page, "prometheus.knee_sqlite_connection_seconds_total", &label, calls * seconds);
    }

    /// Adds or replaces a statement of such a page: its calls per request, and its time and scanned rows per call.
    pub(crate) fn sqlite_statement(
        &mut self,
        page: usize,
        text: &str,
        per_request: f64,
        seconds: f64,
        steps: f64,
    ) {
        let calls = per_request * RATE as f64;
        let label = format!("statement=\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        for (name, per_second) in
            [("calls", calls), ("seconds", calls * seconds), ("fullscan_steps", calls * steps)]
        {
            let name = format!("prometheus.knee_sqlite_statement_{name}_total");
            self.counter(page, &name, &label, per_second);
        }
    }

    /// Adds a PgBouncer at ease: a pool of five server connections, two of them busy, and no client that waits.
    pub(crate) fn pgbouncer(&mut self) -> usize {
        let pooler = self.source(SourceKind::PgBouncer, "pgbouncer://127.0.0.1:6432");
        for (state, clients) in [("active", 2.0), ("waiting", 0.0)] {
            self.gauge(pooler, "pgbouncer.clients", &format!("shop/reader {state}"), clients);
        }
        for (state, servers) in [("active", 2.0), ("idle", 3.0), ("used", 0.0)] {
            self.gauge(pooler, "pgbouncer.servers", &format!("shop/reader {state}"), servers);
        }
        self.gauge(pooler, "pgbouncer.wait", "shop/reader", 0.0);
        self.gauge(pooler, "pgbouncer.pool_size", "shop", 5.0);
        self.counter(pooler, "pgbouncer.wait_time", "shop", 0.0);
        pooler
    }

    /// Adds a PostgreSQL server at ease: one lookup by primary key per request, on ten connections.
    pub(crate) fn postgres(&mut self) -> usize {
        let server = self.source(SourceKind::Postgres, "postgres://127.0.0.1/shop");
        let text = "SELECT id, name, price FROM products WHERE id = $1";
        self.statement(server, "1", text, &Costs::default());
        self.table(server, "public.products", 50_000.0, [0.0, 0.0], [RATE as f64, RATE as f64]);
        self.text(
            server,
            "table.columns",
            "public.products",
            "id\tbigint\t-1\t0\nname\ttext\t-0.5\t0\nshop\tbigint\t200\t0",
        );
        let definition = "CREATE UNIQUE INDEX products_pkey ON public.products USING btree (id)";
        self.text(server, "index.definition", "public.products_pkey", definition);
        self.counter(server, "activity.samples", "", 10.0);
        for (state, mean) in [("active", 0.5), ("idle", 9.4), ("idle in transaction", 0.1)] {
            self.counter(server, "activity.state", state, mean * 10.0);
        }
        self.counter(server, "activity.wait", "CPU", 4.0);
        self.counter(server, "activity.wait", "Client:ClientRead", 1.0);
        self.gauge(server, "activity.backends", "shop", 10.0);
        self.gauge(server, "activity.backends.busy", "shop", 0.6);
        self.gauge(server, "activity.backends.young", "", 0.0);
        for (name, per_second) in [
            ("database.commits", RATE as f64),
            ("database.blocks.hit", 4.0 * RATE as f64),
            ("database.blocks.read", 2.0),
            ("database.sessions", 0.0),
            ("database.idle_in_transaction_time", 0.1),
            ("database.active_time", 0.5),
            ("database.deadlocks", 0.0),
        ] {
            self.counter(server, name, "shop", per_second);
        }
        self.counter(server, "checkpoint.timed", "", 0.0);
        self.counter(server, "checkpoint.requested", "", 0.0);
        server
    }

    /// Adds or replaces the figures of a statement.
    pub(crate) fn statement(&mut self, server: usize, id: &str, text: &str, costs: &Costs) {
        let calls = costs.per_request * RATE as f64;
        self.text(server, "statement.text", id, text);
        self.counter(server, "statement.calls", id, calls);
        self.counter(server, "statement.exec_time", id, calls * costs.seconds);
        self.counter(server, "statement.rows", id, calls * costs.rows);
        self.counter(server, "statement.blocks.hit", id, calls * costs.blocks);
        self.counter(server, "statement.blocks.read", id, 0.0);
        self.counter(server, "statement.temp_blocks.written", id, calls * costs.temp_blocks);
    }

    /// Adds or replaces the figures of a table: live rows, and scans and rows per second, sequential and by index.
    pub(crate) fn table(
        &mut self,
        server: usize,
        name: &str,
        live: f64,
        sequential: [f64; 2],
        index: [f64; 2],
    ) {
        self.gauge(server, "table.live_rows", name, live);
        self.gauge(server, "table.rows_estimate", name, live);
        self.gauge(server, "table.dead_rows", name, live / 100.0);
        self.gauge(server, "table.changed_since_analyze", name, live / 100.0);
        self.counter(server, "table.seq_scans", name, sequential[0]);
        self.counter(server, "table.seq_rows", name, sequential[1]);
        self.counter(server, "table.index_scans", name, index[0]);
        self.counter(server, "table.index_rows", name, index[1]);
    }

    /// Adds or replaces a counter that rises at this pace.
    pub(crate) fn counter(&mut self, source: usize, name: &str, label: &str, per_second: f64) {
        let points =
            (0..=self.seconds).map(|second| (Nanos::from_secs(second), 100.0 + per_second * second as f64));
        self.points(source, name, label, SeriesKind::Counter, points.collect());
    }

    /// Adds or replaces a counter that rises by this much in each second.
    pub(crate) fn stepped(&mut self, source: usize, name: &str, label: &str, rise: impl Fn(u64) -> f64) {
        let mut points = vec![(Nanos::ZERO, 100.0)];
        let mut level = 100.0;
        for second in 0..self.seconds {
            level += rise(second);
            points.push((Nanos::from_secs(second + 1), level));
        }
        self.points(source, name, label, SeriesKind::Counter, points);
    }

    /// Adds or replaces a gauge that stays at this level.
    pub(crate) fn gauge(&mut self, source: usize, name: &str, label: &str, level: f64) {
        let points = (0..=self.seconds).map(|second| (Nanos::from_secs(second), level));
        self.points(source, name, label, SeriesKind::Gauge, points.collect());
    }

    /// Adds or replaces a series.
    pub(crate) fn points(
        &mut self,
        source: usize,
        name: &str,
        label: &str,
        kind: SeriesKind,
        points: Vec<(Nanos, f64)>,
    ) {
        let series = &mut self.observations.series;
        series.retain(|one| (one.source, one.name.as_str(), one.label.as_str()) != (source, name, label));
        let (name, label) = (name.into(), label.into());
        series.push(Series { source, name, label, unit: FigureUnit::Count, kind, points });
    }

    /// Adds or replaces a text.
    pub(crate) fn text(&mut self, source: usize, name: &str, label: &str, text: &str) {
        let texts = &mut self.observations.texts;
        texts.retain(|one| (one.source, one.name.as_str(), one.label.as_str()) != (source, name, label));
        texts.push(Text { source, name: name.into(), label: label.into(), text: text.into() });
    }

    fn run_gauge(&self, source: usize, name: &str) -> f64 {
        self.observations.series(source, name, "").map_or(1.0, |series| series.points[0].1)
    }
}

/// How a process asks another service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calling {
    pub per_response: f64,
    /// Of one call.
    pub seconds: f64,
    /// Segments of an answer.
    pub segments: f64,
    /// Bytes of a question and of an answer.
    pub sent: f64,
    pub received: f64,
    /// Share of the spans between looks that are like the span before.
    pub alike: f64,
    /// Questions under way on a connection that waits.
    pub at_once: f64,
    /// Share of the looks that see more waiting connections than requests.
    pub ahead: f64,
    /// Variance of the number of calls that wait, per mean number.
    pub spread: f64,
    /// Connections that cannot be judged, per waiting one.
    pub unsettled: f64,
    /// Calls that are open at a time, if any are; 0 if that is not known. And the share of the looks that see so many.
    pub most: u32,
    pub full: f64,
    /// By how many requests more are in progress for each call more that is open.
    pub follow: f64,
}

impl Calling {
    /// Open calls times requests in progress, on average, with so many of these.
    fn open_requests(&self, requests: f64) -> f64 {
        let most = f64::from(self.most);
        most * self.full * requests + self.follow * most * most * self.full * (1.0 - self.full)
    }
}

impl Default for Calling {
    fn default() -> Self {
        Self {
            per_response: 1.0,
            seconds: 0.001,
            segments: 1.0,
            sent: 300.0,
            received: 2_000.0,
            alike: 0.1,
            at_once: 1.0,
            ahead: 0.0,
            spread: 0.9,
            unsettled: 0.0,
            most: 0,
            full: 0.0,
            follow: 3.0,
        }
    }
}

/// What one call of a statement costs, and how often it comes per request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    pub per_request: f64,
    pub seconds: f64,
    pub rows: f64,
    pub blocks: f64,
    pub temp_blocks: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self { per_request: 1.0, seconds: 0.000_05, rows: 1.0, blocks: 4.0, temp_blocks: 0.0 }
    }
}

fn count(tally: &mut EndpointTally, sample: &Sample) {
    let outcome = if sample.status < 400 { Outcome::Ok } else { Outcome::HttpError };
    let nanos = Nanos::from_secs_f64;
    let service = sample.wait + sample.receive;
    let opening = sample.connect.unwrap_or(0.0) + sample.tls.unwrap_or(0.0);
    tally.planned += 1;
    tally.outcomes[outcome as usize].service.record(nanos(service));
    tally.outcomes[outcome as usize].response.record(nanos(service + opening));
    tally.phases[Phase::Wait as usize].record(nanos(sample.wait));
    tally.phases[Phase::Receive as usize].record(nanos(sample.receive));
    if let Some(connect) = sample.connect {
        tally.connections += 1;
        tally.phases[Phase::Connect as usize].record(nanos(connect));
    }
    if let Some(tls) = sample.tls {
        tally.phases[Phase::Tls as usize].record(nanos(tls));
    }
    tally.note_status(sample.status, 1);
    tally.bytes_sent += 80;
    tally.bytes_received += sample.body + 200;
    tally.bytes_body += sample.body;
    tally.bodies.note(7, sample.body);
}

fn head(seconds: u64, vus: Curve) -> Head {
    let plan = Plan {
        scenarios: vec![Scenario::new(
            "default",
            Executor::Closed { vus },
            Stop::At(Nanos::from_secs(seconds)),
        )],
        endpoints: ["GET /a", "GET /b"].map(|name| Endpoint { name: name.into() }).to_vec(),
        warm_up: Nanos::ZERO,
        grace: Nanos::from_secs(30),
        request_timeout: None,
        connect_timeout: Nanos::from_secs(5),
        workers: 1,
        interval: Nanos::from_secs(1),
    };
    Head {
        plan,
        title: "http://service/".into(),
        started: Nanos::from_secs(1_800_000_000),
        build: Build { version: "0.1.0".into(), commit: None, optimized: true },
        machine: Machine { cores: 4, ..Machine::default() },
        co_located: Some(false),
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::ZERO,
    }
}

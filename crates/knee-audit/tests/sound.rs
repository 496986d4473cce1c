//! Sound results never raise an alarm, and planted defects always do: runs are simulated, and printed with the rounding
//! of each tool.
//!
//! proptest prints the seed of a failure. Uses no server and no clock.

#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "a test that lays out texts")]

use knee_audit::{Known, Report, audit};
use proptest::prelude::*;

/// Shows its size only: a thousand times would hide the failure.
impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} connections, {} s, {} times", self.connections, self.seconds, self.times.len())
    }
}

/// A closed load: each of some connections sends requests one after another until the end.
#[derive(Clone)]
struct Run {
    connections: usize,
    seconds: f64,
    /// Times of finished requests, sorted.
    times: Vec<f64>,
}

impl Run {
    fn new(connections: usize, seconds: f64, draws: &[f64]) -> Self {
        let mut times = Vec::new();
        let mut draw = draws.iter().cycle();
        for _ in 0..connections {
            let mut now = 0.0;
            loop {
                let time = *draw.next().unwrap();
                now += time;
                if now > seconds {
                    break;
                }
                times.push(time);
            }
        }
        times.sort_by(f64::total_cmp);
        Self { connections, seconds, times }
    }

    fn percentile(&self, share: f64) -> f64 {
        self.times[((share * self.times.len() as f64) as usize).min(self.times.len() - 1)]
    }

    fn mean(&self) -> f64 {
        self.times.iter().sum::<f64>() / self.times.len() as f64
    }

    fn deviation(&self) -> f64 {
        let mean = self.mean();
        let sum: f64 = self.times.iter().map(|time| (time - mean).powi(2)).sum();
        (sum / self.times.len() as f64).sqrt()
    }

    fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }

    fn max(&self) -> f64 {
        self.times[self.times.len() - 1]
    }

    /// Upper ends and counts of eleven rows.
    fn bars(&self) -> Vec<(f64, usize)> {
        let (min, step) = (self.times[0], (self.max() - self.times[0]) / 10.0);
        let ends: Vec<f64> =
            (0..=10).map(|at| if at == 10 { self.max() } else { min + step * f64::from(at) }).collect();
        let upto = |end: f64| self.times.iter().filter(|time| **time <= end).count();
        let mut before = 0;
        ends.into_iter()
            .map(|end| {
                let count = upto(end);
                let here = count - before;
                before = count;
                (end, here)
            })
            .collect()
    }

    fn oha(&self, mean: f64) -> String {
        let mut text = format!(
            "Summary:\n  Success rate:\t100.00%\n  Total:\t{:.4} secs\n  Slowest:\t{:.4} secs\n  Fastest:\t{:.4} secs\n  \
             Average:\t{mean:.4} secs\n  Requests/sec:\t{:.4}\n\nResponse time histogram:\n",
            self.seconds,
            self.max(),
            self.times[0],
            (self.times.len() + self.connections) as f64 / self.seconds
        );
        for (end, count) in self.bars() {
            text += &format!("  {end:.3} [{count}] |\n");
        }
        text += "\nResponse time distribution:\n";
        for share in [10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99] {
            text += &format!("  {share:.2}% in {:.4} secs\n", self.percentile(share / 100.0));
        }
        text + &format!(
            "\nStatus code distribution:\n  [200] {} responses\n\nError distribution:\n  [{}] aborted due to deadline\n",
            self.times.len(),
            self.connections
        )
    }

    fn hey(&self, mean: f64) -> String {
        let mut text = format!(
            "\nSummary:\n  Total:\t{:.4} secs\n  Slowest:\t{:.4} secs\n  Fastest:\t{:.4} secs\n  Average:\t{mean:.4} secs\n  \
             Requests/sec:\t{:.4}\n\n  Total data:\t{} bytes\n  Size/request:\t13 bytes\n\nResponse time histogram:\n",
            self.seconds,
            self.max(),
            self.times[0],
            self.rate(),
            13 * self.times.len()
        );
        for (end, count) in self.bars() {
            text += &format!("  {end:4.3} [{count}]\t|■\n");
        }
        text += "\n\nLatency distribution:\n";
        for share in [10, 25, 50, 75, 90, 95, 99] {
            text += &format!("  {share}% in {:.4} secs\n", self.percentile(f64::from(share) / 100.0));
        }
        text + &format!("\nStatus code distribution:\n  [200]\t{} responses\n", self.times.len())
    }

    fn wrk(&self, rate: f64) -> String {
        let ms = |seconds: f64| format!("{:.2}ms", seconds * 1e3);
        let mut text = format!(
            "Running 10s test @ http://127.0.0.1:8080/\n  2 threads and {} connections\n  Thread Stats   Avg      Stdev     \
             Max   +/- Stdev\n    Latency   {}   {}  {}   93.69%\n    Req/Sec    56.20k     8.07k   62.00k    86.54%\n  \
             Latency Distribution\n",
            self.connections,
            ms(self.mean()),
            ms(self.deviation()),
            ms(self.max())
        );
        for share in [50, 75, 90, 99] {
            text += &format!("     {share}%  {}\n", ms(self.percentile(f64::from(share) / 100.0)));
        }
        text + &format!(
            "  {} requests in {:.2}s, 1.00MB read\nRequests/sec: {rate:9.2}\n",
            self.times.len(),
            self.seconds
        )
    }

    fn k6(&self, vus: usize) -> String {
        let cut = |seconds: f64| format!("{:.2}ms", (seconds * 1e5).floor() / 100.0);
        let trend = format!(
            "avg={} min={} med={} max={} p(90)={} p(95)={}",
            cut(self.mean()),
            cut(self.times[0]),
            cut(self.percentile(0.5)),
            cut(self.max()),
            cut(self.percentile(0.9)),
            cut(self.percentile(0.95))
        );
        let n = self.times.len();
        format!(
            "running ({:.1}s), 00/{vus} VUs, {n} complete and 0 interrupted iterations\n\n    http_req_duration....: {trend}\n    \
             http_req_failed......: 0.00%  0 out of {n}\n    http_reqs............: {n} {:.6}/s\n    iteration_duration...: {trend}\n    \
             iterations...........: {n} {:.6}/s\n    vus..................: {vus} min={vus} max={vus}\n    \
             vus_max..............: {vus} min={vus} max={vus}\n",
            self.seconds,
            self.rate(),
            self.rate()
        )
    }

    fn ab(&self) -> String {
        let ms = |seconds: f64| (seconds * 1e3).round() as u64;
        let n = self.times.len() as f64;
        let mut text = format!(
            "Concurrency Level:      {}\nTime taken for tests:   {:.3} seconds\nComplete requests:      {n}\nFailed requests:        \
             0\nRequests per second:    {:.2} [#/sec] (mean)\nTime per request:       {:.3} [ms] (mean)\nTime per request:       \
             {:.3} [ms] (mean, across all concurrent requests)\n\nConnection Times (ms)\n              min  mean[+/-sd] median   \
             max\nTotal:  {} {} {:.1} {} {}\n\n",
            self.connections,
            self.seconds,
            self.rate(),
            self.seconds * 1e3 * self.connections as f64 / n,
            self.seconds * 1e3 / n,
            ms(self.times[0]),
            ms(self.mean()),
            self.deviation() * 1e3,
            ms(self.percentile(0.5)),
            ms(self.max())
        );
        for share in [50, 66, 75, 80, 90, 95, 98, 99] {
            text += &format!("  {share}%  {}\n", ms(self.percentile(f64::from(share) / 100.0)));
        }
        text + &format!(" 100%  {} (longest request)\n", ms(self.max()))
    }
}

fn run() -> impl Strategy<Value = Run> {
    let times = prop_oneof![0.0005f64..0.02, 0.001f64..0.3, 0.01f64..0.05];
    (1usize..40, 2.0f64..12.0, prop::collection::vec(times, 50..400))
        .prop_map(|(connections, seconds, draws)| Run::new(connections, seconds, &draws))
        .prop_filter("some requests end", |run| run.times.len() > 50)
}

fn checked(output: &str, connections: Option<usize>) -> Report {
    let known = Known { connections: connections.map(|count| count as u64) };
    audit("output", output.as_bytes(), &known).unwrap_or_else(|error| panic!("{error}\n{output}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sound_results_raise_no_alarm(run in run()) {
        let outputs = [run.oha(run.mean()), run.hey(run.mean()), run.wrk(run.rate()), run.k6(run.connections), run.ab()];
        for output in outputs {
            for connections in [None, Some(run.connections)] {
                let report = checked(&output, connections);
                prop_assert!(report.consistent, "{}\n{output}", knee_audit::report::text(&[report]));
                prop_assert!(report.figures > 5, "{output}");
            }
        }
    }

    #[test]
    fn a_mean_that_needs_more_connections_than_there_are_is_found(run in run()) {
        let connection_seconds = run.connections as f64 * run.seconds;
        let mean = 1.4 * connection_seconds / run.times.len() as f64;
        for output in [run.oha(mean), run.hey(mean)] {
            prop_assert!(!checked(&output, Some(run.connections)).consistent, "{output}");
        }
        let in_flight = run.mean() * run.times.len() as f64 / run.seconds;
        if in_flight > 2.0 {
            let output = run.k6((in_flight / 1.4) as usize);
            prop_assert!(!checked(&output, None).consistent, "{output}");
        }
    }

    #[test]
    fn a_rate_that_is_not_count_over_duration_is_found(run in run()) {
        prop_assert!(!checked(&run.wrk(run.rate() * 1.1), None).consistent);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ -~\n|*#`%]{0,300}") {
        let _ = audit("text", text.as_bytes(), &Known::default());
        let _ = audit("text", format!("# x\n\n{text}\n| a | rps |\n|---|---|\n| {text} | 1 |\n").as_bytes(), &Known::default());
    }
}

#[test]
fn supported_users_must_grow_like_the_throughput_and_users_of_a_load_need_not() {
    let found = |table: &str| {
        let report = audit("table.md", table.as_bytes(), &Known::default()).unwrap();
        report.findings.iter().any(|finding| finding.check == "scaling")
    };
    let table = |title: &str, users: [&str; 2]| {
        format!(
            "| Machine | Rate | {title} |\n|---|---|---|\n| small | 500 req/s | {} |\n| large | 750 req/s | {} |\n",
            users[0], users[1]
        )
    };
    assert!(found(&table("Users supported", ["200-300", "500-600"])));
    assert!(!found(&table("Users supported", ["200-300", "300-450"])));
    assert!(
        !found(&table("Users supported", ["200-300", "500+"])),
        "without an upper end nothing is certain"
    );
    assert!(!found(&table("Users", ["200", "900"])), "a load that saturates is no estimate");
}

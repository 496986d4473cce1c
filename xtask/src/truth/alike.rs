//! Oracles of verdicts, on a lab: services that are the same, one that was made slower on purpose, and one that fails
//! some of its requests on purpose.
//!
//! The service is a program of its own, `lorem-news`, started anew for each trial. A verdict that calls the same service
//! faster or slower is wrong, and so is one that overlooks a planted change or has it the other way round. What many
//! simulated worlds say of the same statistics is another oracle, of `knee-study`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::Laboratory;
use super::row::Row;
use crate::program::{self, Knee, words};

/// Largest share of A/A studies that can call a difference: 5 % by chance, and the scatter of 200 of them.
const WRONG_MAX: f64 = 0.06;

/// What is asked of the board: a list, rendered for each request.
const LOAD: &str = "--path /posts --ready /ready -c 10 --output-format json --quiet";

/// How often a piece of a page is rendered, as it should be, and in the slower service. 64 times cost 31 % of the rate
/// (median of 20 studies), so that each time more is 1.9 % of a request at 40 times, and six are a tenth of the rate.
const RENDERED: (u32, u32) = (40, 46);

/// Which requests the failing service fails: one in so many.
const FAIL_EVERY: u32 = 100;

/// A board with data, and how it is served.
struct Board {
    program: PathBuf,
    data: TempDir,
}

impl Board {
    fn make(root: &Path) -> Result<Self> {
        let program = program::lab(root, "lorem-news")?;
        let data = TempDir::new()?;
        let mut seed = Command::new(&program);
        seed.arg("seed").arg("--replace").arg("--data").arg(data.path()).stdout(Stdio::null());
        let done = seed.status().context("cannot start lorem-news")?;
        anyhow::ensure!(done.success(), "the board cannot be filled");
        Ok(Self { program, data })
    }

    /// The command of `knee compare` that serves it.
    fn side(&self, flags: &str) -> String {
        let (program, data) = (self.program.display(), self.data.path().display());
        format!("{program} serve --data {data} --listen 127.0.0.1:{{port}} --log-level error {flags}")
    }
}

/// One comparison's verdicts.
#[derive(Debug, Default)]
struct Verdicts {
    /// Of the first metric, the rate.
    rate: String,
    /// What is said of the service with all metrics tested together.
    any: bool,
    /// How much the rate changed.
    change: Option<f64>,
    /// Of the share of errors.
    errors: String,
    /// How much this share changed.
    more_errors: Option<f64>,
}

impl Verdicts {
    fn read(json: &Value) -> Self {
        let metrics = json.get("metrics").and_then(Value::as_array).into_iter().flatten();
        let verdict = |metric: &Value| metric.get("verdict").and_then(Value::as_str).map(str::to_owned);
        let mut said = Self::default();
        for metric in metrics {
            let word = verdict(metric).unwrap_or_default();
            said.any |= matches!(word.as_str(), "better" | "worse");
            let change = metric.pointer("/change/estimate").and_then(Value::as_f64);
            match metric.get("metric").and_then(Value::as_str) {
                Some("goodput") => (said.change, said.rate) = (change, word),
                Some("errors") => (said.more_errors, said.errors) = (change, word),
                _ => {}
            }
        }
        said
    }
}

fn compare(knee: &Knee, a: &str, b: &str, rest: &str) -> Result<Verdicts> {
    let mut arguments = vec!["compare".to_owned(), a.to_owned(), b.to_owned()];
    arguments.extend(words(LOAD).into_iter().chain(words(rest)));
    let home = TempDir::new()?;
    let ran = knee.plain(&arguments, home.path()).output().context("cannot run `knee compare`")?;
    let json = serde_json::from_slice(&ran.stdout).context("`knee compare` printed no JSON")?;
    Ok(Verdicts::read(&json))
}

fn count(all: &[Verdicts], word: &str) -> usize {
    all.iter().filter(|one| one.rate == word).count()
}

/// The same command on both sides, many short times.
pub fn alike(laboratory: &Laboratory) -> Result<Vec<Row>> {
    const NAME: &str = "the same service";
    let board = Board::make(&laboratory.root)?;
    let side = board.side("");
    let times = laboratory.pick(200, 10);
    let mut all = Vec::with_capacity(times);
    for seed in 1..=times {
        let rest = format!("--blocks 8 -z 300ms --warm-up 100ms --seed {seed}");
        all.push(compare(&laboratory.knee, &side, &side, &rest)?);
    }
    let (faster, slower) = (count(&all, "better"), count(&all, "worse"));
    let any = all.iter().filter(|one| one.any).count();
    let most = (WRONG_MAX * times as f64).ceil() as usize;
    let seen = format!("{faster} faster, {slower} slower, {} same, of {times}", count(&all, "same"));
    Ok(vec![
        Row::fact(
            NAME,
            "by its rate, 8 blocks of 300 ms",
            format!("at most {most} differ"),
            seen,
            faster + slower <= most,
        ),
        Row::fact(
            NAME,
            "by any of four metrics",
            format!("at most {most} differ"),
            format!("{any} of {times}"),
            any <= most,
        ),
    ])
}

/// One side renders more: it is slower, and every other verdict is wrong.
pub fn planted(laboratory: &Laboratory) -> Result<Vec<Row>> {
    const NAME: &str = "a planted slowdown";
    let board = Board::make(&laboratory.root)?;
    let side = |cost: u32| board.side(&format!("--fragment-cache off --render-cost {cost}"));
    let times = laboratory.pick(20, 2);
    let mut all = Vec::with_capacity(times);
    for seed in 1..=times {
        let rest = format!("--blocks 10 -z 1s --warm-up 200ms --seed {seed}");
        all.push(compare(&laboratory.knee, &side(RENDERED.0), &side(RENDERED.1), &rest)?);
    }
    let slower = count(&all, "worse");
    let median = median(all.iter().filter_map(|one| one.change));
    let figure = format!("pieces rendered {} times in place of {}", RENDERED.1, RENDERED.0);
    let median = median.map_or("no figure".to_owned(), |it| format!("{:+.1} %", it * 100.0));
    Ok(vec![
        Row::fact(
            NAME,
            &figure,
            format!("slower {times} of {times}"),
            format!("{slower} of {times}"),
            slower == times,
        ),
        Row::note(NAME, "rate, median of the studies", median),
    ])
}

/// A service beside itself, and beside one that fails one request in a hundred: it is worse by its errors, and nothing
/// is said of the errors of the others.
pub fn errors(laboratory: &Laboratory) -> Result<Vec<Row>> {
    const NAME: &str = "a planted 1 % of errors";
    let board = Board::make(&laboratory.root)?;
    let (sound, failing) = (board.side(""), board.side(&format!("--fail-every {FAIL_EVERY}")));
    let times = laboratory.pick(20, 2);
    let (mut alike, mut planted) = (Vec::with_capacity(times), Vec::with_capacity(times));
    for seed in 1..=times {
        let rest = format!("--blocks 10 -z 1s --warm-up 200ms --seed {seed}");
        alike.push(compare(&laboratory.knee, &sound, &sound, &rest)?);
        planted.push(compare(&laboratory.knee, &sound, &failing, &rest)?);
    }
    let by_errors = |all: &[Verdicts], words: &[&str]| {
        all.iter().filter(|one| words.contains(&one.errors.as_str())).count()
    };
    let (wrong, found) = (by_errors(&alike, &["better", "worse"]), by_errors(&planted, &["worse"]));
    let most = (WRONG_MAX * times as f64).ceil() as usize;
    let median = median(planted.iter().filter_map(|one| one.more_errors));
    let median = median.map_or("no figure".to_owned(), |it| format!("{:+.2} points", it * 100.0));
    Ok(vec![
        Row::fact(
            NAME,
            "the same service, by its errors",
            format!("at most {most} differ"),
            format!("{wrong} of {times}"),
            wrong <= most,
        ),
        Row::fact(
            NAME,
            "one request in 100 fails",
            format!("worse by errors {times} of {times}"),
            format!("{found} of {times}"),
            found == times,
        ),
        Row::note(NAME, "errors, median of the studies", median),
    ])
}

/// The median; the upper one of an even number. `None` without a value.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn verdicts_by_the_rate_and_by_errors_are_read_apart() {
        let metric = |name: &str, verdict: &str, estimate: f64| {
            let change = json!({ "estimate": estimate });
            json!({ "metric": name, "verdict": verdict, "change": change })
        };
        let document = json!({ "metrics": [
            metric("goodput", "same", -0.01),
            metric("p50", "undecided", 0.0),
            metric("errors", "worse", 0.0101),
        ]});
        let said = Verdicts::read(&document);
        assert_eq!((said.rate.as_str(), said.change), ("same", Some(-0.01)));
        assert_eq!((said.errors.as_str(), said.more_errors, said.any), ("worse", Some(0.0101), true));
    }
}

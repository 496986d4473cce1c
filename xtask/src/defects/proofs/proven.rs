//! What each search found, tried and proved, as JSON beside the page.
//!
//! Does not judge it.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::expected::Case;
use super::super::look::{build_of, round, text_at};
use super::super::saved;

/// The least gap to a healthy twin of which a part can be closed, as a part of the mean response time.
const GAP_MIN: f64 = 0.1;

/// All searches, in the order in which they were first made.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Proofs {
    /// Version of this layout.
    version: u32,
    /// The searches.
    pub searches: Vec<Proven>,
}

/// The version of the layout.
const VERSION: u32 = 1;

/// One search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Proven {
    /// The variant.
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// Measured time of the look and of a trial, in seconds.
    pub seconds: u64,
    /// `valid`, `suspect` or `invalid`: that of the look. Empty if there was no run.
    pub validity: String,
    /// The answer.
    pub sentence: String,
    /// What became of the remedy of each finding, hints included.
    pub remedies: Vec<Remedy>,
    /// The verdict on the service with the remedy, by the first metric; `None` without trials.
    pub verdict: Option<String>,
    /// Mean of the mean response times of the trials without the remedy, in milliseconds.
    pub without_mean_ms: Option<f64>,
    /// The same of the trials with the remedy.
    pub with_mean_ms: Option<f64>,
    /// Mean response time of the healthy twin, in milliseconds: one look.
    pub twin_mean_ms: Option<f64>,
    /// What the search took, without the look at the twin.
    pub minutes: f64,
    /// Version and commit of the knee that searched.
    pub build: String,
    /// The CPU.
    pub machine: String,
    /// Why there is no answer.
    pub problem: Option<String>,
}

/// The remedy of a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remedy {
    /// Code of the finding.
    pub code: String,
    /// Whether one signal alone speaks for the finding.
    pub is_hint: bool,
    /// The change that knee can make by itself; `None` if a person must.
    pub change: Option<String>,
    /// Why it was not made; `None` if it was.
    pub why_not: Option<String>,
}

impl Remedy {
    /// Reads one entry of `remedies` in a document of `knee find`.
    fn of(document: &Value, entry: &Value) -> Self {
        let place = entry["finding"].as_u64().unwrap_or_default();
        let text = |name: &str| entry[name].as_str().map(str::to_owned);
        Self {
            code: text_at(document, &format!("/findings/findings/{place}/code")),
            is_hint: text_at(document, &format!("/findings/findings/{place}/confidence")) == "hint",
            change: text("change"),
            why_not: text("why_not"),
        }
    }

    /// Whether a person must make the change. Hints are no findings.
    pub fn is_for_people(&self) -> bool {
        self.change.is_none() && !self.is_hint
    }
}

impl Proven {
    /// Reads a document of `knee find`.
    pub fn of(document: &Value) -> Self {
        let remedies = document["remedies"].as_array().into_iter().flatten();
        let verdict = text_at(document, "/proof/verdict");
        let without = text_at(document, "/proof/metrics/0/from/variant");
        Self {
            validity: text_at(document, "/run/validity"),
            sentence: text_at(document, "/sentence"),
            remedies: remedies.map(|entry| Remedy::of(document, entry)).collect(),
            verdict: (!verdict.is_empty()).then_some(verdict),
            without_mean_ms: mean_ms(document, |variant| variant == without),
            with_mean_ms: mean_ms(document, |variant| variant != without),
            build: build_of(document),
            machine: text_at(document, "/run/machine/cpu"),
            ..Self::default()
        }
    }

    /// The remedy that was tried.
    pub fn tried(&self) -> Option<&Remedy> {
        self.remedies.iter().find(|remedy| remedy.change.is_some() && remedy.why_not.is_none())
    }

    /// Whether the trials decide anything about it.
    pub fn is_decided(&self) -> bool {
        let decides = |verdict: &str| !["undecided", "open"].contains(&verdict);
        self.tried().is_some() && self.verdict.as_deref().is_some_and(decides)
    }

    /// The part of the gap to the healthy twin that the remedy closes; `None` if there is next to no gap.
    pub fn closed(&self) -> Option<f64> {
        let (without, with) = (self.without_mean_ms?, self.with_mean_ms?);
        let gap = without - self.twin_mean_ms?;
        (gap >= GAP_MIN * without).then(|| (without - with) / gap)
    }

    /// The search in one line.
    pub fn says(&self) -> String {
        match &self.problem {
            Some(problem) => format!("failed: {problem}"),
            None => format!("{:.1} min: {}", self.minutes, self.sentence),
        }
    }

    fn is_of(&self, variant: &str, workload: &str) -> bool {
        self.variant == variant && self.workload == workload
    }
}

/// The mean over the usable trials of some variants, in milliseconds.
fn mean_ms(document: &Value, is_of: impl Fn(&str) -> bool) -> Option<f64> {
    let trials = document.pointer("/proof/trials")?.as_array()?;
    let is_usable = |entry: &&Value| {
        is_of(&text_at(entry, "/trial/variant")) && text_at(entry, "/result/measured/validity") != "invalid"
    };
    let mean = |entry: &Value| entry.pointer("/result/measured/figures/mean/value")?.as_f64();
    let means: Vec<f64> = trials.iter().filter(is_usable).filter_map(mean).collect();
    (!means.is_empty()).then(|| round(means.iter().sum::<f64>() / means.len() as f64 / 1e6))
}

impl Proofs {
    /// Reads the file; without one there are no searches.
    pub fn read(path: &Path) -> Result<Self> {
        let Some(proofs) = saved::read_document::<Self>(path)? else {
            return Ok(Self { version: VERSION, searches: Vec::new() });
        };
        ensure!(proofs.version == VERSION, "{} has version {}", path.display(), proofs.version);
        Ok(proofs)
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        saved::write_document(path, self)
    }

    /// The search of a variant under a workload.
    pub fn search(&self, variant: &str, workload: &str) -> Option<&Proven> {
        self.searches.iter().find(|search| search.is_of(variant, workload))
    }

    /// Whether a case was searched, and there was an answer.
    pub fn has(&self, case: &Case) -> bool {
        self.search(&case.variant, &case.workload).is_some_and(|search| search.problem.is_none())
    }

    /// Adds a search, in place of an earlier one of the same case.
    pub fn put(&mut self, proven: Proven) {
        match self.searches.iter_mut().find(|search| search.is_of(&proven.variant, &proven.workload)) {
            Some(earlier) => *earlier = proven,
            None => self.searches.push(proven),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(variant: &str, mean: f64, validity: &str) -> Value {
        serde_json::json!({
            "trial": {"variant": variant},
            "result": {"measured": {"validity": validity, "figures": {"mean": {"value": mean}}}},
        })
    }

    #[test]
    fn a_search_is_read_with_the_remedy_that_was_tried_and_the_means_of_both_sides() {
        let json = serde_json::json!({
            "sentence": "missing index; with the remedy, mean falls",
            "run": {"validity": "valid"},
            "findings": {"findings": [
                {"code": "cpu_full", "confidence": "strong"},
                {"code": "missing_index", "confidence": "likely"},
                {"code": "transfer", "confidence": "hint"},
            ]},
            "remedies": [
                {"finding": 0, "change": null, "why_not": "knee cannot apply this remedy by itself"},
                {"finding": 1, "change": "CREATE INDEX ON t (a) in postgres.db", "why_not": null},
                {"finding": 2, "change": null, "why_not": "a hint"},
            ],
            "proof": {
                "state": "tried", "verdict": "better",
                "metrics": [{"from": {"variant": "a"}}],
                "trials": [
                    trial("a", 80e6, "valid"), trial("a", 120e6, "suspect"), trial("a", 900e6, "invalid"),
                    trial("a + index", 20e6, "valid"),
                    {"trial": {"variant": "a + index"}, "result": {"died": {"reason": "x"}}},
                ],
            },
        });
        let mut proven = Proven::of(&json);
        assert_eq!(proven.tried().map(|remedy| remedy.code.as_str()), Some("missing_index"));
        assert!(proven.is_decided());
        assert_eq!((proven.without_mean_ms, proven.with_mean_ms), (Some(100.0), Some(20.0)));
        let for_people: Vec<bool> = proven.remedies.iter().map(Remedy::is_for_people).collect();
        assert_eq!(for_people, [true, false, false]);
        proven.twin_mean_ms = Some(10.0);
        assert!(proven.closed().is_some_and(|part| (part - 80.0 / 90.0).abs() < 1e-9));
        proven.twin_mean_ms = Some(95.0);
        assert_eq!(proven.closed(), None, "a gap of 5 % is none");
        for verdict in ["undecided", "open"] {
            proven.verdict = Some(verdict.to_owned());
            assert!(!proven.is_decided(), "{verdict}");
        }
    }

    #[test]
    fn what_is_written_can_be_read_and_a_search_that_failed_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proofs.json");
        let mut proofs = Proofs::read(&path).unwrap();
        let proven = |problem: Option<&str>| Proven {
            variant: "a".to_owned(),
            workload: "list".to_owned(),
            problem: problem.map(str::to_owned),
            ..Proven::default()
        };
        let case = Case {
            study: None,
            variant: "a".to_owned(),
            workload: "list".to_owned(),
            seconds: None,
            share_cpus: false,
        };
        proofs.put(proven(Some("no port")));
        assert!(!proofs.has(&case));
        proofs.put(proven(None));
        proofs.write(&path).unwrap();
        let read = Proofs::read(&path).unwrap();
        assert!(read.has(&case) && read.searches.len() == 1);
    }
}

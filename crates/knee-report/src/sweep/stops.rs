//! What stops the service at the limit that a sweep found: the findings of the rules over the step that shows it,
//! beside those of a step well below.
//!
//! Which steps these are is said by `knee_study::sweep::limit`. Does not find anything.

use std::fmt::Write as _;

use knee_core::record::Run;
use knee_findings::{Evidence, Finding, Level, Report as Found, SubjectKind, add_levels, examine};
use knee_study::sweep::{FinishedStep, Report, Step};

use crate::number::level;
use crate::study::sentence_in_line;
use crate::text::Style;
use crate::text::finding::{At, HEADING, figure_words, gain_words, headline_words, lines_at, nothing_words};

/// What the rules found in the run of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFindings {
    /// Number of the step.
    pub number: usize,
    /// The findings.
    pub found: Found,
    /// Its figures beside those of other levels; `None` if nothing was answered.
    pub level: Option<Level>,
}

impl StepFindings {
    /// The findings in the run of a step.
    pub fn of(step: &Step, run: &Run) -> Self {
        let evidence = Evidence::of(run, &run.observations);
        let level = Level::of(step.load.level(), &evidence);
        Self { number: step.number, found: examine(&evidence), level }
    }
}

/// The findings at the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Stops {
    /// Number of the step that shows the limit.
    pub step: usize,
    /// Its level.
    pub level: f64,
    /// The level with its unit: `4,270 requests/s`.
    pub place: String,
    /// Whether it lies beyond the capacity or the knee. If not, it is the highest level that has valid measurements.
    pub is_beyond: bool,
    /// Whether a limit was seen, at this level or above it.
    pub limit_seen: bool,
    /// The step well below to which it is compared, and its level; `None` if there is none.
    pub lower: Option<(usize, f64)>,
    /// The findings, in the order that they have in a run: what is also there well below the limit can set it, too.
    pub found: Found,
    /// Whether each finding is also there well below; `None` if that is unknown.
    pub also: Vec<Option<bool>>,
    /// What is said beside each finding; empty where there is nothing to say.
    pub notes: Vec<String>,
}

impl Stops {
    /// The findings at the limit of a sweep; `None` without a step that has findings.
    pub fn of(report: &Report, steps: &[StepFindings]) -> Option<Self> {
        let of_step = |step: &FinishedStep| steps.iter().find(|one| one.number == step.step.number);
        let limit = report.at_limit()?;
        let mut found = of_step(limit)?.found.clone();
        let levels: Vec<Level> =
            report.usable().into_iter().filter_map(|step| of_step(step)?.level).collect();
        add_levels(&mut found, &levels, report.is_closed());
        let below = report.below(limit).and_then(|step| Some((step, of_step(step)?)));
        let place = |step: &FinishedStep| format!("{} {}", level(step.step.load.level()), report.unit());
        let is_below = |finding: &Finding| below.and_then(|(_, below)| is_also(finding, &below.found));
        let also: Vec<Option<bool>> = found.findings.iter().map(is_below).collect();
        let everywhere = "not caused by full load, and can set the limit";
        let note =
            below.map(|(step, _)| format!("also at {}: {everywhere}", place(step))).unwrap_or_default();
        let said = |also: Option<bool>| if also == Some(true) { note.clone() } else { String::new() };
        let notes = also.iter().copied().map(said).collect();
        let at = limit.step.load.level();
        Some(Self {
            step: limit.step.number,
            level: at,
            place: place(limit),
            is_beyond: report.is_beyond(at),
            limit_seen: report.limit_level().is_some(),
            lower: below.map(|(step, _)| (step.step.number, step.step.load.level())),
            found,
            also,
            notes,
        })
    }

    /// What stands beside the heading: "at 4,270 requests/s".
    pub fn remark(&self) -> String {
        let end = match (self.is_beyond, self.limit_seen) {
            (true, _) => "",
            (false, true) => ", the highest valid level: steps beyond the limit are not valid",
            (false, false) => ", the highest level: no limit was seen",
        };
        format!("at {}{end}", self.place)
    }

    /// The section of the text.
    pub(super) fn lines(&self, style: &Style) -> Vec<String> {
        let remark = self.remark();
        lines_at(&self.found, At { remark: &remark, notes: &self.notes }, style)
    }

    /// The section of the Markdown.
    pub(super) fn markdown(&self, style: &Style) -> String {
        let mut text = format!("## {HEADING} {}\n\n", self.remark());
        let items: Vec<String> = if self.found.findings.is_empty() {
            vec![sentence_in_line(&nothing_words(&self.found))]
        } else {
            self.found.findings.iter().zip(&self.notes).map(|(one, note)| item(one, note, style)).collect()
        };
        for item in items {
            // Writing into a text cannot fail.
            let _ = writeln!(text, "- {item}.");
        }
        text.push('\n');
        text
    }
}

/// A finding in one line, without its last full stop.
fn item(finding: &Finding, note: &str, style: &Style) -> String {
    let figures: Vec<String> =
        finding.evidence.iter().map(|signal| sentence_in_line(&figure_words(signal, style))).collect();
    let note = if note.is_empty() { String::new() } else { format!(" ({})", sentence_in_line(note)) };
    let gain = gain_words(finding, style).map(|gain| format!(". Predicted: {}", sentence_in_line(&gain)));
    format!(
        "**{}**{note}: {}. Remedy: {}{}",
        sentence_in_line(&headline_words(finding)),
        figures.join("; "),
        sentence_in_line(&finding.remedy.to_string()),
        gain.unwrap_or_default()
    )
}

/// Whether a finding is also among those of another step; `None` if its rule did not run there.
fn is_also(finding: &Finding, other: &Found) -> Option<bool> {
    // A process has another name after a reset.
    let has_name = !matches!(finding.subject.kind, SubjectKind::Process | SubjectKind::Service);
    let is_same = |one: &Finding| {
        one.code == finding.code
            && one.subject.kind == finding.subject.kind
            && (!has_name || one.subject.name == finding.subject.name)
    };
    other.ran.contains(&finding.code).then(|| other.findings.iter().any(is_same))
}

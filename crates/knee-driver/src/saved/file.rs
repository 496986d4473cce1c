//! Files of saved trials: lines of JSON, plain while trials are added, packed with zstd afterwards.
//!
//! The first line has the study, its options, its calibration and the division of the CPUs. Each session has a line with its time and machine,
//! and each trial one with its result. Does not choose between files and does not interpret trials.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use knee_core::fixture::division::Division;
use knee_core::unit::Nanos;
use knee_report::study::Session;
use knee_study::definition::{Claim, Definition};
use knee_study::study::{Calibration, Entry, Options, Study, Trial, TrialResult};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The level of compression. A fixed one, so that the same trials are the same bytes.
const LEVEL: i32 = 19;

/// Most bytes that a packed file can unpack to. A file from elsewhere must not take all memory.
const UNPACKED_MAX: u64 = 1 << 30;

/// The saved state of a study.
#[derive(Debug)]
pub struct Stored {
    /// Its options, beyond its definition.
    pub options: Options,
    /// The machine's noise when it began; `None` if it was unknown, or if an older version ran all trials.
    pub calibration: Option<Calibration>,
    /// Its sessions; none if an older version ran all trials.
    pub sessions: Vec<Session>,
    /// Its trials.
    pub entries: Vec<Entry>,
    /// Claims that were changed after trials were run: when the last session before the change began.
    pub changed_claims: BTreeMap<String, Nanos>,
    /// How the CPUs were divided; `None` if an older version ran all trials.
    pub division: Option<Division>,
}

/// The first line.
#[derive(PartialEq, Serialize, Deserialize)]
struct Heading {
    definition: Definition,
    options: Options,
    /// The machine's noise when the study began; absent in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Calibration>,
    /// Claims that were changed after trials were run: when the last session before the change began.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changed_claims: BTreeMap<String, Nanos>,
    /// How the CPUs were divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    division: Option<Division>,
}

/// A line after the first.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    /// A session began here.
    Session { session: Session },
    /// A trial that was made.
    Trial(Box<Entry>),
}

/// The state of a study, as its file has it.
pub(super) fn text(study: &Study, sessions: &[Session]) -> String {
    let mut text = line(&Heading {
        definition: study.definition().clone(),
        options: study.options().clone(),
        calibration: study.calibration().cloned(),
        changed_claims: study.changed_claims().clone(),
        division: study.division().cloned(),
    });
    for session in sessions {
        text.push_str(&line(&Line::Session { session: session.clone() }));
    }
    for entry in portable(study.entries()) {
        text.push_str(&line(&entry));
    }
    text
}

/// The trials as files have them: without folders of the machine that ran them.
pub(super) fn portable(entries: &[Entry]) -> Vec<Entry> {
    entries.iter().cloned().map(without_folder).collect()
}

/// The line of a trial.
pub(super) fn trial(trial: &Trial, result: &TrialResult) -> String {
    line(&without_folder(Entry { trial: trial.clone(), result: result.clone() }))
}

fn line(value: &impl Serialize) -> String {
    // Maps with names for keys and numbers always serialise.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// The same, packed.
///
/// # Errors
///
/// When memory is short.
pub(super) fn packed(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Whether a file is packed, by its name.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// The lines of a file.
fn lines(path: &Path) -> io::Result<io::Lines<Box<dyn BufRead>>> {
    let file = File::open(path)?;
    let reader: Box<dyn BufRead> = if is_packed(path) {
        Box::new(BufReader::new(zstd::Decoder::new(file)?.take(UNPACKED_MAX)))
    } else {
        Box::new(BufReader::new(file))
    };
    Ok(reader.lines())
}

/// What the file `path` has of the study of `definition`, whatever its options. A plain file can end in an incomplete
/// line, because its study was killed: that trial is run again. A packed file is whole.
///
/// # Errors
///
/// When there is no such file, when it belongs to another study, or when a packed file is damaged.
pub(super) fn read(path: &Path, definition: &Definition) -> Result<Stored, Error> {
    let unreadable = |source| Error::NotSaved { path: path.to_owned(), source };
    let damaged = || Error::Damaged { path: path.to_owned() };
    let mut lines = lines(path).map_err(unreadable)?;
    let heading = match lines.next() {
        Some(Err(_)) if is_packed(path) => return Err(damaged()),
        heading => heading.transpose().map_err(unreadable)?.unwrap_or_default(),
    };
    let known: Option<Heading> = serde_json::from_str(&heading).ok();
    let Some(known) = known.filter(|known| without_words(&known.definition) == without_words(definition))
    else {
        return Err(Error::Unrelated { of: "another study.toml", path: path.to_owned() });
    };
    let mut stored = Stored {
        options: known.options,
        calibration: known.calibration,
        sessions: Vec::new(),
        entries: Vec::new(),
        changed_claims: known.changed_claims,
        division: known.division,
    };
    for line in lines {
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Line::Session { session }) => stored.sessions.push(session),
            Some(Line::Trial(entry)) => stored.entries.push(without_folder(*entry)),
            None if is_packed(path) => return Err(damaged()),
            None => break,
        }
    }
    stored.mark_changes(&known.definition.claims, &definition.claims);
    Ok(stored)
}

/// Whether a plain file of trials has any.
pub(super) fn has_trials(path: &Path) -> bool {
    let is_trial = |line: String| matches!(serde_json::from_str(&line), Ok(Line::Trial(_)));
    lines(path).is_ok_and(|lines| lines.skip(1).map_while(Result::ok).any(is_trial))
}

/// Names the record of a trial without the folder of the machine that ran it.
fn without_folder(mut entry: Entry) -> Entry {
    if let TrialResult::Measured(measured) = &mut entry.result
        && let Some(record) = &mut measured.record
        && let Some(name) = Path::new(record.as_str()).file_name()
    {
        *record = name.to_string_lossy().into_owned();
    }
    entry
}

impl Stored {
    /// Whether it has all trials of the other one, and perhaps more.
    pub(super) fn continues(&self, other: &Self) -> bool {
        self.entries.starts_with(&other.entries)
    }

    /// Marks the claims whose tests are other than when the last trials were run. Words can be corrected without a mark.
    fn mark_changes(&mut self, then: &[Claim], now: &[Claim]) {
        if self.entries.is_empty() {
            return;
        }
        // An older version stored no sessions.
        let began = self.sessions.last().map_or(Nanos::ZERO, |session| session.started);
        let known =
            |claim: &&Claim| then.iter().any(|before| before.id == claim.id && before.test == claim.test);
        let changed = now.iter().filter(|claim| !known(claim)).map(|claim| (claim.id.clone(), began));
        self.changed_claims.extend(changed);
    }
}

/// The part of a definition that decides its trials: without texts of the report, claims, published figures and pages of
/// metrics, which can be corrected or added afterwards.
fn without_words(definition: &Definition) -> Definition {
    let mut bare = definition.clone();
    (bare.title, bare.question, bare.source) = (String::new(), None, None);
    bare.claims.clear();
    bare.claims_in.clear();
    bare.published.clear();
    bare.fixture.service.values_mut().for_each(|service| service.metrics = None);
    bare.variants.iter_mut().for_each(|variant| variant.text.clear());
    bare.workloads.iter_mut().for_each(|workload| workload.text.clear());
    bare.switches.values_mut().for_each(|switch| {
        switch.text.clear();
        switch.remedies.clear();
        switch.affects = None;
    });
    bare
}

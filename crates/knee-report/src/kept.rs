//! A result as it was printed, in every format: what a page carries of itself, and what is saved of a sweep, a study, a
//! comparison, a calibration and a search.
//!
//! A run has its record instead. Does not open files, and does not make a result again: it has the bytes that were
//! printed.
//!
//! ```text
//! magic (8) version (u32) │ length (u32) summary │ length (u32) body      both packed by zstd
//! ```

use std::io::Read;

use knee_core::validity::Validity;
use knee_study::compare::Comparison;
use knee_study::record_pair::RecordPair;
use knee_study::study::Conclusion;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zstd::zstd_safe::CParameter;

use crate::SweepView;
use crate::find::{self, Search};
use crate::study::{self, Block, Document, Provenance};
use crate::sweep::{json as sweep_json, markdown as sweep_markdown, text as sweep_text};
use crate::text::{Palette, Style};

/// Width of the documents of studies and comparisons, whatever the terminal's: results are pasted.
pub const COLUMNS: usize = 100;

/// The first bytes of a saved result. As in a record, a transfer as text damages them visibly.
pub const MAGIC: [u8; 8] = *b"\x89KNEER\n\x1a";

/// The version of the layout; rises when a reader would misread a new one.
const VERSION: u32 = 1;

/// Most bytes of the file of a result.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// Most bytes that a result unpacks to.
const UNPACKED_MAX: usize = 64 << 20;

/// zstd's level: results are written once, and a page must stay small.
const LEVEL: i32 = 9;

/// The kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// The capacity of a service.
    Sweep,
    /// Variants of a service.
    Study,
    /// Two services.
    Comparison,
    /// Two saved runs.
    TwoRuns,
    /// The noise floor of a machine.
    Calibration,
    /// What stops a service.
    Search,
}

impl ResultKind {
    /// The kind in a sentence: "the result of a sweep".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Study => "study",
            Self::Comparison => "comparison",
            Self::TwoRuns => "comparison of two runs",
            Self::Calibration => "calibration",
            Self::Search => "search",
        }
    }
}

/// What a list shows of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What it is.
    pub kind: ResultKind,
    /// What was measured.
    pub title: String,
    /// The load, in a few words; can be empty.
    pub load: String,
    /// The result in a sentence.
    pub answer: String,
    /// Whether it can be trusted; `None` if that is part of the answer.
    pub validity: Option<Validity>,
}

/// A result in all formats that its command prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptResult {
    /// What a list shows of it.
    pub summary: Summary,
    /// What it was printed as.
    pub printed: Printed,
}

/// The formats of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// Without colours.
    pub text: String,
    /// The text with all findings; only of a search and of a sweep.
    pub all_findings: Option<String>,
    /// Markdown, if the command has it.
    pub markdown: Option<String>,
    /// The document for programs.
    pub json: String,
    /// The page. A page does not carry itself.
    pub page: Option<String>,
}

/// Why bytes are not a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    /// The first bytes are those of something else.
    #[error("this is not a result of knee")]
    NotAResult,
    /// A later version wrote it.
    #[error("version {0} of a saved result is unknown to this version of knee")]
    Version(u32),
    /// The end is missing.
    #[error("the saved result is cut off")]
    CutOff,
    /// The content is no result, or damaged.
    #[error("the saved result is damaged")]
    Damaged,
    /// It unpacks to more than any result has.
    #[error("the saved result unpacks to more than {} MiB", UNPACKED_MAX >> 20)]
    TooLarge,
}

impl KeptResult {
    /// The result with its page.
    #[must_use]
    pub fn with_page(mut self, page: String) -> Self {
        self.printed.page = Some(page);
        self
    }

    /// The bytes of the result. Empty if they cannot be packed, which no result causes.
    pub fn pack(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        let parts = [packed(&self.summary), packed(&self.printed)];
        for part in parts {
            let Some(part) = part else { return Vec::new() };
            bytes.extend((part.len() as u32).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// The result of these bytes.
    ///
    /// # Errors
    /// Any [`UnpackError`].
    pub fn unpack(bytes: &[u8]) -> Result<Self, UnpackError> {
        let (summary, rest) = first_part(start(bytes)?)?;
        let (printed, _) = first_part(rest)?;
        Ok(Self { summary: unpacked(summary)?, printed: unpacked(printed)? })
    }
}

impl Summary {
    /// The summary of a packed result, without unpacking the rest.
    ///
    /// # Errors
    /// Any [`UnpackError`].
    pub fn unpack(bytes: &[u8]) -> Result<Self, UnpackError> {
        let (summary, rest) = first_part(start(bytes)?)?;
        first_part(rest)?;
        unpacked(summary)
    }
}

/// What follows magic and version.
fn start(bytes: &[u8]) -> Result<&[u8], UnpackError> {
    let Some(rest) = bytes.strip_prefix(&MAGIC) else { return Err(UnpackError::NotAResult) };
    let (version, rest) = number(rest)?;
    if version == VERSION { Ok(rest) } else { Err(UnpackError::Version(version)) }
}

fn number(bytes: &[u8]) -> Result<(u32, &[u8]), UnpackError> {
    let (number, rest) = bytes.split_first_chunk().ok_or(UnpackError::CutOff)?;
    Ok((u32::from_le_bytes(*number), rest))
}

fn first_part(bytes: &[u8]) -> Result<(&[u8], &[u8]), UnpackError> {
    let (length, rest) = number(bytes)?;
    rest.split_at_checked(length as usize).ok_or(UnpackError::CutOff)
}

fn packed(part: &impl Serialize) -> Option<Vec<u8>> {
    let bytes = rmp_serde::to_vec_named(part).ok()?;
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).ok()?;
    compressor.set_parameter(CParameter::ChecksumFlag(true)).ok()?;
    compressor.compress(&bytes).ok()
}

fn unpacked<T: DeserializeOwned>(part: &[u8]) -> Result<T, UnpackError> {
    let mut bytes = Vec::new();
    let limit = UNPACKED_MAX as u64;
    let mut decoder = zstd::Decoder::with_buffer(part).map_err(|_| UnpackError::Damaged)?;
    decoder.window_log_max(UNPACKED_MAX.ilog2()).map_err(|_| UnpackError::Damaged)?;
    decoder.take(limit + 1).read_to_end(&mut bytes).map_err(|_| UnpackError::Damaged)?;
    if bytes.len() > UNPACKED_MAX {
        return Err(UnpackError::TooLarge);
    }
    rmp_serde::from_slice(&bytes).map_err(|_| UnpackError::Damaged)
}

/// A sweep. Of `style`, only the unit of times matters.
pub fn sweep(view: &SweepView<'_>, style: &Style) -> KeptResult {
    let style = Style { unit: style.unit, ..Style::default() };
    KeptResult {
        summary: Summary {
            kind: ResultKind::Sweep,
            title: view.about.title.clone(),
            load: view.terms.join(", "),
            answer: view.headline.clone(),
            validity: Some(view.state),
        },
        printed: Printed {
            text: sweep_text::render(view, &style),
            // Of a sweep that found no limit there is nothing to examine, and the text says that.
            all_findings: Some(sweep_text::render(view, &Style { all_findings: true, ..style })),
            markdown: Some(sweep_markdown::render(view, &style)),
            json: sweep_json::render(view),
            ..Printed::default()
        },
    }
}

/// A study.
pub fn study(conclusion: &Conclusion, provenance: &Provenance) -> KeptResult {
    let document = Document::of(conclusion, provenance, &[]);
    let mut kept = of_document(ResultKind::Study, &document, study::json::render(conclusion, provenance));
    kept.summary.validity = Some(trusted(conclusion));
    kept
}

/// A comparison with a verdict.
pub fn comparison(comparison: &Comparison) -> KeptResult {
    let document = study::comparison::comparison(comparison);
    let json = study::comparison::comparison_json(comparison);
    let mut kept = of_document(ResultKind::Comparison, &document, json);
    kept.summary.validity = Some(trusted(&comparison.study));
    kept.summary.load.clone_from(&comparison.load);
    kept
}

/// Two saved runs.
pub fn record_pair(pair: &RecordPair) -> KeptResult {
    let document = study::comparison::record_pair(pair);
    of_document(ResultKind::TwoRuns, &document, study::comparison::record_pair_json(pair))
}

/// The noise floor of a machine.
pub fn calibration(document: &Document, json: String) -> KeptResult {
    of_document(ResultKind::Calibration, document, json)
}

/// A search. Of `style`, only the unit of times matters.
pub fn search(search: &Search, style: &Style) -> KeptResult {
    let style = Style { unit: style.unit, ..Style::default() };
    KeptResult {
        summary: Summary {
            kind: ResultKind::Search,
            title: search.title.clone(),
            load: String::new(),
            answer: find::sentence(search),
            validity: Some(search.look.validity.validity),
        },
        printed: Printed {
            text: find::text(search, &style),
            all_findings: Some(find::text(search, &Style { all_findings: true, ..style })),
            json: find::json(search),
            ..Printed::default()
        },
    }
}

fn of_document(kind: ResultKind, document: &Document, json: String) -> KeptResult {
    KeptResult {
        summary: Summary {
            kind,
            title: document.title.clone(),
            load: String::new(),
            answer: answer(document),
            validity: None,
        },
        printed: Printed {
            text: study::text(document, COLUMNS, Palette::None),
            markdown: Some(study::markdown(document)),
            json,
            ..Printed::default()
        },
    }
}

/// The sentence that a reader must not miss, or else the first one.
fn answer(document: &Document) -> String {
    let lead = document.blocks.iter().find_map(|block| match block {
        Block::Lead(text) => Some(text),
        _ => None,
    });
    let first = document.blocks.iter().find_map(|block| match block {
        Block::Paragraph(text) => Some(text),
        Block::List(texts) => texts.first(),
        _ => None,
    });
    lead.or(first).cloned().unwrap_or_default()
}

/// How far the trials of a study can be trusted.
const fn trusted(conclusion: &Conclusion) -> Validity {
    let totals = conclusion.totals;
    match () {
        () if totals.valid + totals.suspect == 0 => Validity::Invalid,
        () if totals.valid == totals.trials && conclusion.over => Validity::Valid,
        () => Validity::Suspect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> KeptResult {
        KeptResult {
            summary: Summary {
                kind: ResultKind::Sweep,
                title: "http://a/".into(),
                load: "requests/s".into(),
                answer: "Capacity 900/s.".into(),
                validity: Some(Validity::Valid),
            },
            printed: Printed { text: "text\n".repeat(500), json: "{}".into(), ..Printed::default() },
        }
    }

    #[test]
    fn a_result_is_unpacked_as_it_was_packed() {
        let (kept, bytes) = (kept(), kept().pack());
        assert!(bytes.len() < kept.printed.text.len());
        assert_eq!(KeptResult::unpack(&bytes).as_ref(), Ok(&kept));
        assert_eq!(Summary::unpack(&bytes), Ok(kept.summary));
    }

    #[test]
    fn every_damage_is_an_error() {
        let bytes = kept().pack();
        for length in 0..bytes.len() {
            let error = KeptResult::unpack(&bytes[..length]).unwrap_err();
            assert!(matches!(error, UnpackError::NotAResult | UnpackError::CutOff), "{length}: {error}");
            assert!(Summary::unpack(&bytes[..length]).is_err(), "{length}");
        }
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                // Of a zstd frame, one bit means nothing.
                let read = KeptResult::unpack(&damaged);
                assert!(read.is_err() || read == Ok(kept()), "byte {place}, bit {bit}");
            }
        }
        let later = [&MAGIC[..], &9_u32.to_le_bytes()].concat();
        assert_eq!(KeptResult::unpack(&later), Err(UnpackError::Version(9)));
    }

    #[test]
    fn a_result_that_unpacks_to_too_much_is_refused() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        let bomb = zstd::bulk::compress(&vec![0; UNPACKED_MAX + 1], 1).unwrap();
        for _ in 0..2 {
            bytes.extend((bomb.len() as u32).to_le_bytes());
            bytes.extend(&bomb);
        }
        assert_eq!(KeptResult::unpack(&bytes), Err(UnpackError::TooLarge));
        assert_eq!(Summary::unpack(&bytes), Err(UnpackError::TooLarge));
    }
}

//! Why an output cannot be checked, and what to do next.
//!
//! Does not know the names of files; the caller adds them.

/// Largest output that is read as a whole, in bytes.
pub const BYTES_MAX: u64 = 64 << 20;

/// What every hint about an unknown format names.
pub const FORMATS: &str = "k6 (summary JSON, JSON lines, CSV, end-of-test text), oha (text, JSON), hey (text, CSV), \
     wrk and wrk2 (text), ab (text), vegeta (text and JSON report, JSON and binary results), Locust (stats CSV, history CSV, HTML), and \
     Markdown with tables or outputs of these";

/// Why an output cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No reader knows it.
    #[error("the format is not known")]
    UnknownFormat,
    /// It is compressed.
    #[error("the file is compressed")]
    Compressed,
    /// Binary results of vegeta are damaged.
    #[error("part {part} of vegeta's binary results: {what}")]
    Binary {
        /// The message of the file, from 1: a result or the definition of a type.
        part: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The format is known, but the content is damaged.
    #[error("line {line}: {what}")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// It is too large to be read as a whole.
    #[error("the file has more than {} MiB, and its format is not one that is read in pieces", BYTES_MAX >> 20)]
    TooLarge,
    /// It has no figures.
    #[error("the file has no figures to check")]
    Empty,
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl ReadError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownFormat | Self::Empty => format!("formats: {FORMATS}"),
            Self::Compressed => "unpack it first, as in `gunzip FILE`".to_owned(),
            Self::Binary { .. } => {
                "convert what vegeta itself can read: `vegeta encode FILE > results.json`".to_owned()
            }
            Self::Damaged { .. } => "give the output as the tool wrote it".to_owned(),
            Self::TooLarge => "give the tool's summary instead".to_owned(),
            Self::Io(_) => "check the file and its permissions".to_owned(),
        }
    }
}

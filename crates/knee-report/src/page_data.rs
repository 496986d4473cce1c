//! What a page carries so that `knee report` can print its result again: a run as a small record, any other result as
//! it was printed.
//!
//! Finds it in the bytes of a page, which can come from anyone. Does not unpack it and does not write pages; see
//! [`crate::html`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How a page begins.
const BEGIN: &[u8] = b"<!DOCTYPE html>";

/// How a page ends.
const END: &[u8] = b"</html>";

/// Most bytes of a page that is read. Pages have 3.3 MB at the most.
pub const PAGE_BYTES_MAX: usize = 16 << 20;

/// What a page carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The record of a run; see [`knee_core::record::compact`].
    Record(Vec<u8>),
    /// A packed [`KeptResult`](crate::kept::KeptResult).
    Result(Vec<u8>),
}

/// Why a page has nothing that can be printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// It is not a page at all.
    #[error("this is not an HTML page")]
    NotAPage,
    /// The end of the page is missing.
    #[error("the page is cut off")]
    CutOff,
    /// It is too large for a page of knee.
    #[error("the page is larger than {} MiB, and knee writes none of that size", PAGE_BYTES_MAX >> 20)]
    TooLarge,
    /// It carries nothing: another program or an early version wrote it, or its result was too large.
    #[error("the page does not carry its result")]
    NoData,
    /// What it carries is not what was written.
    #[error("the result within the page is damaged")]
    Damaged,
}

impl Carried {
    /// Name of the element that holds it.
    pub(crate) const fn id(&self) -> &'static str {
        match self {
            Self::Record(_) => "knee-record",
            Self::Result(_) => "knee-result",
        }
    }

    /// Its bytes as text that needs no escape.
    pub(crate) fn encoded(&self) -> String {
        let (Self::Record(bytes) | Self::Result(bytes)) = self;
        STANDARD.encode(bytes)
    }
}

/// Whether a file that begins like this is a page.
pub fn is_page(start: &[u8]) -> bool {
    start.starts_with(BEGIN)
}

/// What a page carries.
///
/// # Errors
///
/// Any [`PageError`].
pub fn read(page: &[u8]) -> Result<Carried, PageError> {
    if !is_page(page) {
        return Err(PageError::NotAPage);
    }
    if page.len() > PAGE_BYTES_MAX {
        return Err(PageError::TooLarge);
    }
    if !page.trim_ascii_end().ends_with(END) {
        return Err(PageError::CutOff);
    }
    let found = element(page, "knee-record").map(|text| (text, Carried::Record as fn(Vec<u8>) -> Carried));
    let found = found.or_else(|| element(page, "knee-result").map(|text| (text, Carried::Result as _)));
    let (text, carried) = found.ok_or(PageError::NoData)?;
    STANDARD.decode(text).map(carried).map_err(|_| PageError::Damaged)
}

/// The text within an element that holds a JSON string. Every other text of a page is escaped, so the begin of an
/// element occurs only where the element is.
fn element<'p>(page: &'p [u8], id: &str) -> Option<&'p [u8]> {
    let begin = format!("<script type=\"application/json\" id=\"{id}\">\"");
    let at = page.windows(begin.len()).rposition(|window| window == begin.as_bytes())? + begin.len();
    let rest = &page[at..];
    Some(&rest[..rest.iter().position(|byte| *byte == b'"')?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(inside: &str) -> Vec<u8> {
        format!("<!DOCTYPE html><html>{inside}</html>\n").into_bytes()
    }

    fn script(carried: &Carried) -> String {
        format!(
            "<script type=\"application/json\" id=\"{}\">\"{}\"</script>",
            carried.id(),
            carried.encoded()
        )
    }

    #[test]
    fn what_a_page_carries_is_found_again() {
        for carried in [Carried::Record((0..=255).collect()), Carried::Result(vec![7; 10])] {
            assert_eq!(read(&page(&script(&carried))), Ok(carried));
        }
    }

    #[test]
    fn pages_without_it_and_broken_ones_are_errors() {
        let whole = page(&script(&Carried::Record(vec![1; 100])));
        let cases = [
            (b"PK\x03\x04".to_vec(), PageError::NotAPage),
            (Vec::new(), PageError::NotAPage),
            (page("<p>another page</p>"), PageError::NoData),
            (whole[..whole.len() - 9].to_vec(), PageError::CutOff),
            (page("<script type=\"application/json\" id=\"knee-record\">\"?\"</script>"), PageError::Damaged),
            (page("<script type=\"application/json\" id=\"knee-record\">\"AA"), PageError::NoData),
            (page(&" ".repeat(PAGE_BYTES_MAX)), PageError::TooLarge),
        ];
        for (bytes, error) in cases {
            assert_eq!(read(&bytes), Err(error));
        }
    }
}

//! A request for a page of options: tenant, search text, limit and offset.
//!
//! Parsed from the query string.

use crate::refusal::Refusal;
use crate::session::Tenant;

/// Options per page, as published.
pub const DEFAULT_LIMIT: u32 = 10;
const MAX_LIMIT: u32 = 100;
const MAX_OFFSET: u32 = 1_000_000;
/// Most characters of the search text.
const MAX_QUERY_CHARS: usize = 100;

/// A page of options.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PageRequest {
    /// Tenant whose workers are listed.
    pub tenant: Tenant,
    /// Search text; empty matches all workers.
    pub query: String,
    /// Most options on the page.
    pub limit: u32,
    /// Options to skip.
    pub offset: u32,
}

impl PageRequest {
    /// Parses a query string. Unknown parameters are ignored.
    ///
    /// # Errors
    /// A number is malformed or out of range, a parameter is repeated, or the search text is too long or not UTF-8.
    pub fn read(tenant: Tenant, text: &str) -> Result<Self, Refusal> {
        let (mut query, mut limit, mut offset) = (None, None, None);
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let is_twice = match &*name {
                "query" => query.replace(search(&value)?).is_some(),
                "limit" => limit.replace(number("limit", &value, 1, MAX_LIMIT)?).is_some(),
                "offset" => offset.replace(number("offset", &value, 0, MAX_OFFSET)?).is_some(),
                _ => false,
            };
            if is_twice {
                return Err(Refusal::BadQuery(format!("{name} is there twice")));
            }
        }
        let (limit, offset) = (limit.unwrap_or(DEFAULT_LIMIT), offset.unwrap_or(0));
        Ok(Self { tenant, query: query.unwrap_or_default(), limit, offset })
    }

    /// Whether it is the first page of the default size.
    pub fn is_default_page(&self) -> bool {
        self.limit == DEFAULT_LIMIT && self.offset == 0
    }

    /// Whether there is a search text.
    pub fn is_search(&self) -> bool {
        !self.query.is_empty()
    }

    /// The search as a PostgreSQL `tsquery`: every word must be a prefix of some part of the name.
    pub fn words(&self) -> Option<String> {
        let words = self.query.split(|character: char| !character.is_alphanumeric());
        let words: Vec<String> =
            words.filter(|word| !word.is_empty()).map(|word| format!("'{word}':*")).collect();
        self.is_search().then(|| words.join(" & "))
    }

    /// The next page.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { offset: self.offset.saturating_add(self.limit), ..self.clone() }
    }

    /// The previous page, if any.
    pub fn prev(&self) -> Option<Self> {
        let offset = self.offset.saturating_sub(self.limit);
        (self.offset > 0).then(|| Self { offset, ..self.clone() })
    }

    /// Path and query string of this page.
    pub fn path(&self) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        if self.is_search() {
            text.append_pair("query", &self.query);
        }
        text.append_pair("limit", &self.limit.to_string()).append_pair("offset", &self.offset.to_string());
        format!("/api/v1/workers/select-options?{}", text.finish())
    }
}

fn search(text: &str) -> Result<String, Refusal> {
    if text.chars().count() > MAX_QUERY_CHARS {
        return Err(Refusal::BadQuery(format!("query has at most {MAX_QUERY_CHARS} characters")));
    }
    if text.contains(['\0', char::REPLACEMENT_CHARACTER]) {
        return Err(Refusal::BadQuery("query has to be text in UTF-8, without U+0000".to_owned()));
    }
    Ok(text.trim().to_lowercase())
}

fn number(name: &str, text: &str, least: u32, most: u32) -> Result<u32, Refusal> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_number && (least..=most).contains(&number) => Ok(number),
        _ => Err(Refusal::BadQuery(format!("{name} is a number from {least} to {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<PageRequest, Refusal> {
        PageRequest::read(Tenant { organization: "org".into(), business_unit: "bu".into() }, text)
    }

    #[test]
    fn an_empty_query_is_the_published_page() {
        let request = read("query=").unwrap();
        assert!(request.is_default_page() && !request.is_search());
        assert_eq!((request.limit, request.offset, request.words()), (10, 0, None));
        assert_eq!(read("").unwrap(), request);
        assert_eq!(read("other=1&other=2").unwrap(), request);
    }

    #[test]
    fn each_mistake_is_refused_with_its_field() {
        for (text, part) in [
            ("limit=0", "limit is a number from 1 to 100"),
            ("limit=101", "limit"),
            ("limit=", "limit"),
            ("limit=%2B5", "limit"),
            ("limit=1e1", "limit"),
            ("offset=-1", "offset"),
            ("offset=99999999999999999999", "offset"),
            ("query=a&query=b", "twice"),
            ("query=%ff%fe", "UTF-8"),
            ("query=%00", "U+0000"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert!(read(&format!("query={}", "a".repeat(101))).is_err());
    }

    #[test]
    fn words_are_prefixes_and_punctuation_separates_them() {
        assert_eq!(read("query=Ann%20O%27Ne").unwrap().words().unwrap(), "'ann':* & 'o':* & 'ne':*");
        assert_eq!(read("query=%21%7C%28").unwrap().words().unwrap(), "", "matches nobody");
    }

    proptest! {
        #[test]
        fn the_path_of_a_page_parses_to_that_page(query in "[^\0\u{fffd}]{0,50}", limit in 1..=100_u32, offset in 0..=1_000_000_u32) {
            let page = PageRequest { query: query.trim().to_lowercase(), limit, offset, ..read("").unwrap() };
            prop_assume!(page.query.to_lowercase() == page.query && page.query.chars().count() <= MAX_QUERY_CHARS);
            let path = page.path();
            prop_assert_eq!(read(path.split_once('?').unwrap().1).unwrap(), page);
        }

        #[test]
        fn no_search_text_escapes_its_quotes(query in "[^\0]{0,60}") {
            let request = PageRequest { query, ..read("").unwrap() };
            if let Some(words) = request.words() {
                for word in words.split(" & ").filter(|word| !word.is_empty()) {
                    let inner = word.strip_prefix('\'').and_then(|word| word.strip_suffix("':*")).unwrap();
                    prop_assert!(inner.chars().all(char::is_alphanumeric), "{}", word);
                }
            }
        }
    }
}

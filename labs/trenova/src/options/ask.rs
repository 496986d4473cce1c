//! What somebody asks for: a tenant's workers, those that match, and which of them.
//!
//! Reads it from what stands after the question mark.

use crate::refusal::Refusal;
use crate::session::Tenant;

/// Options of a page, as published.
pub const USUAL_LIMIT: u32 = 10;
const MOST_LIMIT: u32 = 100;
const MOST_OFFSET: u32 = 1_000_000;
/// Most characters of a search.
const LONGEST: usize = 100;

/// A page of options.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ask {
    /// Whose workers.
    pub tenant: Tenant,
    /// What they are looked for by; all of them if that is empty.
    pub query: String,
    /// Most options.
    pub limit: u32,
    /// Options before the first.
    pub offset: u32,
}

impl Ask {
    /// Reads it from what stands after the question mark. Other parameters than its own mean nothing.
    ///
    /// # Errors
    /// A number is none or out of its range, a parameter is there twice, the search is too long or no text.
    pub fn read(tenant: Tenant, text: &str) -> Result<Self, Refusal> {
        let (mut query, mut limit, mut offset) = (None, None, None);
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let is_twice = match &*name {
                "query" => query.replace(search(&value)?).is_some(),
                "limit" => limit.replace(number("limit", &value, 1, MOST_LIMIT)?).is_some(),
                "offset" => offset.replace(number("offset", &value, 0, MOST_OFFSET)?).is_some(),
                _ => false,
            };
            if is_twice {
                return Err(Refusal::BadQuery(format!("{name} is there twice")));
            }
        }
        let (limit, offset) = (limit.unwrap_or(USUAL_LIMIT), offset.unwrap_or(0));
        Ok(Self { tenant, query: query.unwrap_or_default(), limit, offset })
    }

    /// Whether it is the page that everybody asks for first.
    pub fn is_usual(&self) -> bool {
        self.limit == USUAL_LIMIT && self.offset == 0
    }

    /// Whether workers have to match something.
    pub fn is_search(&self) -> bool {
        !self.query.is_empty()
    }

    /// What workers have to match, as PostgreSQL reads it: all words, each the beginning of a part of the name.
    pub fn words(&self) -> Option<String> {
        let words = self.query.split(|character: char| !character.is_alphanumeric());
        let words: Vec<String> =
            words.filter(|word| !word.is_empty()).map(|word| format!("'{word}':*")).collect();
        self.is_search().then(|| words.join(" & "))
    }

    /// The page after this one.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { offset: self.offset.saturating_add(self.limit), ..self.clone() }
    }

    /// The page before this one, if there is one.
    pub fn prev(&self) -> Option<Self> {
        let offset = self.offset.saturating_sub(self.limit);
        (self.offset > 0).then(|| Self { offset, ..self.clone() })
    }

    /// Where it is asked for.
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
    if text.chars().count() > LONGEST {
        return Err(Refusal::BadQuery(format!("query has at most {LONGEST} characters")));
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

    fn read(text: &str) -> Result<Ask, Refusal> {
        Ask::read(Tenant { organization: "org".into(), business_unit: "bu".into() }, text)
    }

    #[test]
    fn what_is_left_out_is_the_published_page() {
        let ask = read("query=").unwrap();
        assert!(ask.is_usual() && !ask.is_search());
        assert_eq!((ask.limit, ask.offset, ask.words()), (10, 0, None));
        assert_eq!(read("").unwrap(), ask);
        assert_eq!(read("other=1&other=2").unwrap(), ask);
    }

    #[test]
    fn each_mistake_is_refused_by_its_name() {
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
    fn words_are_beginnings_and_their_signs_mean_nothing() {
        assert_eq!(read("query=Ann%20O%27Ne").unwrap().words().unwrap(), "'ann':* & 'o':* & 'ne':*");
        assert_eq!(read("query=%21%7C%28").unwrap().words().unwrap(), "", "matches nobody");
    }

    proptest! {
        #[test]
        fn the_path_of_a_page_asks_for_that_page(query in "[^\0\u{fffd}]{0,50}", limit in 1..=100_u32, offset in 0..=1_000_000_u32) {
            let asked = Ask { query: query.trim().to_lowercase(), limit, offset, ..read("").unwrap() };
            prop_assume!(asked.query.to_lowercase() == asked.query && asked.query.chars().count() <= LONGEST);
            let path = asked.path();
            prop_assert_eq!(read(path.split_once('?').unwrap().1).unwrap(), asked);
        }

        #[test]
        fn nothing_that_somebody_types_ends_a_word_early(query in "[^\0]{0,60}") {
            let ask = Ask { query, ..read("").unwrap() };
            if let Some(words) = ask.words() {
                for word in words.split(" & ").filter(|word| !word.is_empty()) {
                    let inner = word.strip_prefix('\'').and_then(|word| word.strip_suffix("':*")).unwrap();
                    prop_assert!(inner.chars().all(char::is_alphanumeric), "{}", word);
                }
            }
        }
    }
}

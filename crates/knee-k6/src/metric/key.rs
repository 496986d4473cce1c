//! How the options name a metric, or those of its samples that have certain tags: `metric{tag:value}`.
//!
//! Does not know which metrics exist.

use super::tag::Tags;

/// A metric's name with the tags that its samples must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name before the brace.
    pub metric: String,
    /// What stands between the braces, trimmed; empty if there are none.
    pub suffix: String,
    /// The tags asked for.
    pub tags: Vec<(String, String)>,
}

/// Why a text is no key. Reads as k6 says it, after `parsing metric name failed, `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// One brace without the other.
    #[error("metric {0:?} has unmatched opening/close curly brace")]
    Unmatched(String),
    /// Something stands behind the closing brace.
    #[error("metric {0:?} lacks a closing curly brace in its last position")]
    Trailing(String),
    /// A filter that is not `tag:value`.
    #[error("metric {0:?} tag expression is malformed")]
    Tag(String),
}

impl Key {
    /// Reads `metric` or `metric{tag:value,tag:value}`. Blanks and quotes around tags and values are dropped.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (open, close) = (text.find('{'), text.rfind('}'));
        let (open, close) = match (open, close) {
            (None, None) | (Some(0), _) => {
                return Ok(Self { metric: text.to_owned(), suffix: String::new(), tags: Vec::new() });
            }
            (Some(open), Some(close)) if open < close => (open, close),
            _ => return Err(KeyError::Unmatched(text.to_owned())),
        };
        if close + 1 != text.len() {
            return Err(KeyError::Trailing(text.to_owned()));
        }
        let suffix = text[open + 1..close].trim().to_owned();
        let tags = suffix.split(',').map(tag).collect::<Result<_, _>>()?;
        Ok(Self { metric: text[..open].to_owned(), suffix, tags })
    }

    /// Whether a sample with these tags counts. A tag that is asked for with an empty value matches
    /// samples without it.
    pub fn matches(&self, tags: &dyn Tags) -> bool {
        self.tags.iter().all(|(name, value)| tags.tag(name).unwrap_or_default() == value)
    }

    /// The name under which outputs show it: `metric{suffix}`.
    pub fn name(&self) -> String {
        if self.suffix.is_empty() {
            self.metric.clone()
        } else {
            format!("{}{{{}}}", self.metric, self.suffix)
        }
    }
}

fn tag(text: &str) -> Result<(String, String), KeyError> {
    let bare = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    match text.split_once(':') {
        Some((name, value)) if !bare(name).is_empty() && !value.is_empty() => Ok((bare(name), bare(value))),
        _ => Err(KeyError::Tag(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tag::TagSet;
    use super::*;

    fn tags(text: &str) -> Vec<(String, String)> {
        Key::parse(text).unwrap().tags
    }

    #[test]
    fn a_filter_names_one_or_more_tags() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(tags("http_reqs"), []);
        assert_eq!(tags("http_reqs{a:b}"), [pair("a", "b")]);
        assert_eq!(tags("http_reqs{ a : b , c:d }"), [pair("a", "b"), pair("c", "d")]);
        assert_eq!(tags("http_reqs{url:http://x/y}"), [pair("url", "http://x/y")]);
        assert_eq!(tags(r#"http_reqs{a:"b"}"#), [pair("a", "b")]);
        assert_eq!(tags("http_reqs{name:a{b}}"), [pair("name", "a{b}")]);
    }

    #[test]
    fn malformed_filters_are_reported_in_k6s_words() {
        // Recorded from k6 v1.8.1.
        for (text, message) in [
            ("http_reqs{}", r#"metric "" tag expression is malformed"#),
            ("http_reqs{a}", r#"metric "a" tag expression is malformed"#),
            ("http_reqs{a:}", r#"metric "a:" tag expression is malformed"#),
            ("http_reqs{a:b,}", r#"metric "" tag expression is malformed"#),
            ("http_reqs{a:b", r#"metric "http_reqs{a:b" has unmatched opening/close curly brace"#),
            ("http_reqs}", r#"metric "http_reqs}" has unmatched opening/close curly brace"#),
            (
                "http_reqs{a:b}x",
                r#"metric "http_reqs{a:b}x" lacks a closing curly brace in its last position"#,
            ),
        ] {
            assert_eq!(Key::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        assert!(Key::parse("http_reqs{:b}").is_err(), "k6 overflows its stack on this");
    }

    #[test]
    fn a_sample_counts_if_it_has_every_tag_asked_for() {
        let key = Key::parse("m{a:1,b:2}").unwrap();
        let has = |pairs: &[(&str, &str)]| key.matches(&pairs.iter().copied().collect::<TagSet>());
        assert!(has(&[("a", "1"), ("b", "2"), ("c", "3")]));
        assert!(!has(&[("a", "1")]));
        assert!(!has(&[("a", "1"), ("b", "3")]));
        assert!(Key::parse(r#"m{a:""}"#).unwrap().matches(&()));
        assert_eq!(Key::parse("m{ a:1 }").unwrap().name(), "m{a:1}");
    }
}

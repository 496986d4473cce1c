//! The tags of samples: the script's own, and those that k6 gives them by itself.
//!
//! Shared by metrics, which ask for single tags, and by outputs, which write all of them. Of two with one
//! name that of the script counts, except for what k6 knows of a request better than the script.

use std::cell::OnceCell;

use super::system_tags::{SystemTag, SystemTags};
use super::tag_key::TagKey;
use super::{Context, Exchange};
use crate::metric::Tags;

/// Tags that can be written out.
pub trait AllTags: Tags {
    /// Calls `each` with every tag; of two with one name the first counts.
    fn each(&self, each: &mut dyn FnMut(&str, &str));

    /// Puts what no other tags of the same worker have into `key`. Cheaper than the tags themselves, because numbers are
    /// not written out and nothing is looked up by name.
    fn identify(&self, key: &mut TagKey);

    /// What the sample is of, below [`KINDS`], and a number that differs for most tags of this kind that take turns.
    fn hint(&self) -> (usize, usize);

    /// All tags, sorted by name.
    fn sorted(&self) -> Vec<(String, String)> {
        let mut tags: Vec<(String, String)> = Vec::with_capacity(12);
        self.each(&mut |name, value| {
            if !tags.iter().any(|(known, _)| known == name) {
                tags.push((name.to_owned(), value.to_owned()));
            }
        });
        tags.sort_unstable();
        tags
    }
}

/// Begins the bytes that stand for the tags of a check, and of a request.
const CHECK: u8 = 1;
const REQUEST: u8 = 2;
/// Kinds of samples whose tags are found in different ways.
pub const KINDS: usize = 3;

/// A number that differs for most texts that take turns: names and URLs end in different ways.
fn hint_of(text: &str) -> usize {
    text.len() + text.bytes().last().map_or(0, usize::from)
}

/// The tags of a sample that is neither request nor check.
pub struct Plain<'a> {
    /// Position in the script.
    pub context: &'a Context<'a>,
    /// Which tags it gets by itself.
    pub system: SystemTags,
}

impl Tags for Plain<'_> {
    fn tag(&self, name: &str) -> Option<&str> {
        let own = self.context.tags.iter().rev().find(|(known, _)| known == name);
        own.map(|(_, value)| value.as_str()).or_else(|| match name {
            "scenario" if self.system.has(SystemTag::Scenario) => {
                Some(self.context.scenario).filter(|scenario| !scenario.is_empty())
            }
            "group" if self.system.has(SystemTag::Group) => Some(self.context.group),
            _ => None,
        })
    }
}

impl AllTags for Plain<'_> {
    fn identify(&self, key: &mut TagKey) {
        // Without a group is something else than with an empty one.
        key.put([if self.system.has(SystemTag::Group) { b'g' } else { b'p' }]);
        key.text(self.context.scenario);
        key.text(self.context.group);
        key.pairs(self.context.tags);
    }

    fn hint(&self) -> (usize, usize) {
        (0, hint_of(self.context.group))
    }

    fn each(&self, each: &mut dyn FnMut(&str, &str)) {
        self.context.tags.iter().rev().for_each(|(name, value)| each(name, value));
        for name in ["group", "scenario"] {
            if let Some(value) = self.tag(name) {
                each(name, value);
            }
        }
    }
}

/// The tags of a check.
pub struct OfCheck<'a> {
    /// Those of any sample.
    pub plain: Plain<'a>,
    /// Its name.
    pub check: &'a str,
}

impl Tags for OfCheck<'_> {
    fn tag(&self, name: &str) -> Option<&str> {
        let is_own = name == "check" && self.plain.system.has(SystemTag::Check);
        if is_own { Some(self.check) } else { self.plain.tag(name) }
    }
}

impl AllTags for OfCheck<'_> {
    fn identify(&self, key: &mut TagKey) {
        key.put([CHECK]);
        key.text(self.check);
        self.plain.identify(key);
    }

    fn hint(&self) -> (usize, usize) {
        (CHECK.into(), hint_of(self.check))
    }

    fn each(&self, each: &mut dyn FnMut(&str, &str)) {
        if let Some(check) = self.tag("check") {
            each("check", check);
        }
        self.plain.each(each);
    }
}

/// The tags of a request.
pub struct OfRequest<'a> {
    plain: Plain<'a>,
    exchange: &'a Exchange<'a>,
    /// Worked out when a filter asks for it; most do not.
    status: OnceCell<String>,
    error_code: OnceCell<String>,
    address: OnceCell<String>,
}

impl<'a> OfRequest<'a> {
    /// The tags of `exchange`.
    pub fn new(exchange: &'a Exchange<'a>, context: &'a Context<'a>, system: SystemTags) -> Self {
        let plain = Plain { context, system };
        Self {
            plain,
            exchange,
            status: OnceCell::new(),
            error_code: OnceCell::new(),
            address: OnceCell::new(),
        }
    }

    /// A tag of the script: of the request, or of the VU.
    fn own(&self, name: &str) -> Option<&str> {
        let tags = self.plain.context.tags.iter().chain(&self.exchange.request.tags);
        tags.rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The name that the script gave, as a tag or as a template of URLs.
    fn name(&self) -> Option<&str> {
        let template =
            || self.exchange.request.name.as_deref().filter(|_| self.plain.system.has(SystemTag::Name));
        self.own("name").or_else(template)
    }

    fn system_tag(&self, tag: SystemTag) -> Option<&str> {
        let Exchange { answer, method, expected, .. } = self.exchange;
        match tag {
            // A name given by the script stands for the URL too, so that URLs with ids do not pile up.
            SystemTag::Name | SystemTag::Url => Some(self.name().unwrap_or(&answer.target.shown)),
            SystemTag::Method => Some(method),
            SystemTag::Status => Some(self.status.get_or_init(|| answer.status.to_string())),
            SystemTag::Proto => Some(answer.protocol()).filter(|protocol| !protocol.is_empty()),
            SystemTag::ExpectedResponse => expected.map(|expected| if expected { "true" } else { "false" }),
            SystemTag::Error => answer.error.as_ref().map(|(words, _)| words.as_str()),
            SystemTag::ErrorCode => {
                let code = answer.error_code();
                (code > 0).then(|| self.error_code.get_or_init(|| code.to_string()).as_str())
            }
            SystemTag::Ip => {
                let peer = answer.peer?;
                Some(self.address.get_or_init(|| peer.address.ip().to_string()))
            }
            SystemTag::TlsVersion => {
                answer.peer?.tls.map(|tls| tls.version).filter(|version| !version.is_empty())
            }
            _ => None,
        }
    }
}

impl Tags for OfRequest<'_> {
    fn tag(&self, name: &str) -> Option<&str> {
        let system = SystemTag::by_name(name).filter(|tag| self.plain.system.has(*tag));
        let known = system.and_then(|tag| self.system_tag(tag));
        known.or_else(|| self.own(name)).or_else(|| self.plain.tag(name))
    }
}

impl AllTags for OfRequest<'_> {
    fn identify(&self, key: &mut TagKey) {
        let Exchange { answer, method, expected, request, .. } = self.exchange;
        let has = |tag| self.plain.system.has(tag);
        let expected = expected.map_or(0, |expected| 1 + u8::from(expected));
        let [status, code] = [answer.status, answer.error_code()].map(u16::to_le_bytes);
        let named = u8::from(request.name.is_some()) + 2 * u8::from(answer.error.is_some());
        key.put([REQUEST, expected, status[0], status[1], code[0], code[1], named]);
        key.text(answer.protocol());
        key.text(method);
        if has(SystemTag::Url) || has(SystemTag::Name) {
            key.text(&answer.target.shown);
        }
        key.text(request.name.as_deref().unwrap_or_default());
        if has(SystemTag::Error) {
            key.text(answer.error.as_ref().map_or("", |(words, _)| words));
        }
        for tag in [SystemTag::Ip, SystemTag::TlsVersion] {
            if has(tag) {
                key.text(self.system_tag(tag).unwrap_or_default());
            }
        }
        key.pairs(&request.tags);
        self.plain.identify(key);
    }

    fn hint(&self) -> (usize, usize) {
        let Exchange { answer, method, .. } = self.exchange;
        (REQUEST.into(), hint_of(&answer.target.shown) + method.len() + usize::from(answer.status))
    }

    fn each(&self, each: &mut dyn FnMut(&str, &str)) {
        const OF_REQUESTS: [&str; 10] = [
            "error",
            "error_code",
            "expected_response",
            "ip",
            "method",
            "name",
            "proto",
            "status",
            "tls_version",
            "url",
        ];
        for name in OF_REQUESTS {
            if let Some(value) = self.tag(name) {
                each(name, value);
            }
        }
        self.exchange.request.tags.iter().for_each(|(name, value)| each(name, value));
        self.plain.each(each);
    }
}

#[cfg(test)]
mod tests {
    use knee_core::unit::Nanos;

    use super::*;

    #[test]
    fn tags_of_the_script_win_over_those_of_the_system() {
        let own = [("scenario".to_owned(), "mine".to_owned()), ("a".to_owned(), "b".to_owned())];
        let context =
            Context { scenario: "default", group: "::g", tags: &own, metadata: &[], at: Nanos::ZERO };
        let plain = Plain { context: &context, system: SystemTags::default() };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(plain.sorted(), [pair("a", "b"), pair("group", "::g"), pair("scenario", "mine")]);
        assert_eq!(plain.tag("scenario"), Some("mine"));
    }

    #[test]
    fn tags_that_are_switched_off_are_not_there() {
        let context =
            Context { scenario: "default", group: "::g", tags: &[], metadata: &[], at: Nanos::ZERO };
        let system = SystemTags::of(["check", "group", "nonsense"]);
        let check = OfCheck { plain: Plain { context: &context, system }, check: "c" };
        assert_eq!(
            check.sorted(),
            [("check".to_owned(), "c".to_owned()), ("group".to_owned(), "::g".to_owned())]
        );
        assert_eq!(check.tag("scenario"), None);
        assert_eq!(system.names(), ["check", "group"]);
    }
}

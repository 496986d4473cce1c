//! The tags that k6 gives samples by itself, and which of them they get.
//!
//! Does not know their values; see [`super::tags`].

use crate::options::defaults::{OPTIONAL_SYSTEM_TAGS, SYSTEM_TAGS};

/// Which tags samples get by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemTags(u32);

impl Default for SystemTags {
    fn default() -> Self {
        Self::of(SYSTEM_TAGS)
    }
}

impl SystemTags {
    /// Those of these names; names that are none are left out.
    pub fn of(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(names.into_iter().fold(0, |bits, name| bits | bit(name.as_ref())))
    }

    /// Whether samples get this tag.
    pub const fn has(self, tag: SystemTag) -> bool {
        self.0 & (1 << tag as u32) != 0
    }

    /// The tags of a run or a scenario, as its VUs have them: k6 sets scenario and group itself, in spite of them.
    pub fn above(self, tags: &[(String, String)]) -> Vec<(String, String)> {
        let is_set = |name: &str| {
            (name == "scenario" && self.has(SystemTag::Scenario))
                || (name == "group" && self.has(SystemTag::Group))
        };
        tags.iter().filter(|(name, _)| !is_set(name)).cloned().collect()
    }

    /// The same without one of them.
    #[must_use]
    pub const fn without(self, tag: SystemTag) -> Self {
        Self(self.0 & !(1 << tag as u32))
    }

    /// Names of those that samples get, sorted.
    pub fn names(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = SYSTEM_TAGS.iter().chain(&OPTIONAL_SYSTEM_TAGS).copied().collect();
        names.retain(|name| self.0 & bit(name) != 0);
        names.sort_unstable();
        names
    }
}

/// A tag that samples get by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the tag of its name")]
pub enum SystemTag {
    Check,
    Error,
    ErrorCode,
    ExpectedResponse,
    Group,
    Method,
    Name,
    Proto,
    Scenario,
    Service,
    Status,
    Subproto,
    TlsVersion,
    Url,
    Ip,
    Iter,
    OcspStatus,
    Vu,
}

impl SystemTag {
    /// The tag of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "check" => SystemTag::Check,
            "error" => SystemTag::Error,
            "error_code" => SystemTag::ErrorCode,
            "expected_response" => SystemTag::ExpectedResponse,
            "group" => SystemTag::Group,
            "method" => SystemTag::Method,
            "name" => SystemTag::Name,
            "proto" => SystemTag::Proto,
            "scenario" => SystemTag::Scenario,
            "service" => SystemTag::Service,
            "status" => SystemTag::Status,
            "subproto" => SystemTag::Subproto,
            "tls_version" => SystemTag::TlsVersion,
            "url" => SystemTag::Url,
            "ip" => SystemTag::Ip,
            "iter" => SystemTag::Iter,
            "ocsp_status" => SystemTag::OcspStatus,
            "vu" => SystemTag::Vu,
            _ => return None,
        })
    }
}

fn bit(name: &str) -> u32 {
    SystemTag::by_name(name).map_or(0, |tag| 1 << tag as u32)
}

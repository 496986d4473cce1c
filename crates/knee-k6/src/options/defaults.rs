//! What k6 assumes where options say nothing.

/// The trend figures that a summary shows unless options say otherwise.
pub const TREND_STATS: [&str; 6] = ["avg", "min", "med", "max", "p(90)", "p(95)"];

/// The system tags that samples have unless options say otherwise, sorted.
pub const SYSTEM_TAGS: [&str; 14] = [
    "check",
    "error",
    "error_code",
    "expected_response",
    "group",
    "method",
    "name",
    "proto",
    "scenario",
    "service",
    "status",
    "subproto",
    "tls_version",
    "url",
];

/// System tags that samples have only when options ask for them.
pub const OPTIONAL_SYSTEM_TAGS: [&str; 4] = ["ip", "iter", "ocsp_status", "vu"];

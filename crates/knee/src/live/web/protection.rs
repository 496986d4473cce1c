//! The headers that protect the live page and its data in a browser.
//!
//! Does not decide which requests are answered; `guard` does.

/// Headers of every response. The page loads nothing but its own files, no other site can embed or read it, no browser
/// keeps it, and no site learns its URL.
pub const PROTECTION: &str = "\
content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
require-trusted-types-for 'script'; trusted-types 'none'\r\n\
x-content-type-options: nosniff\r\n\
referrer-policy: no-referrer\r\n\
cache-control: no-store\r\n\
cross-origin-opener-policy: same-origin\r\n\
cross-origin-resource-policy: same-origin\r\n\
connection: close\r\n";

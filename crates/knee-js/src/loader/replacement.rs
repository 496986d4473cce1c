//! Built-in copies of the libraries that most remote imports name; they need no network.
//!
//! Each is written from the library's documented behaviour; see the head of each file.

/// A library of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The library's name, without a version.
    pub library: &'static str,
    /// JavaScript.
    pub source: &'static str,
}

/// Base URL of the libraries.
const HOST: &str = "https://jslib.k6.io/";

/// Libraries, their known versions, and our source.
const LIBRARIES: &[(&str, &[&str], &str)] = &[
    ("formdata", &["0.0.1", "0.0.2"], include_str!("../../js/formdata.js")),
    ("k6-summary", &["0.0.1", "0.0.2", "0.0.3", "0.0.4", "0.1.0"], include_str!("../../js/k6-summary.js")),
    (
        "k6-utils",
        &["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"],
        include_str!("../../js/k6-utils.js"),
    ),
    (
        "httpx",
        &["0.0.1", "0.0.2", "0.0.3", "0.0.4", "0.0.5", "0.0.6", "0.1.0"],
        include_str!("../../js/httpx.js"),
    ),
    ("k6chaijs", &["4.3.4.0", "4.3.4.1"], include_str!("../../js/k6chaijs-values.js")),
    ("k6chaijs", &["4.3.4.2", "4.3.4.3", "4.5.0.0", "4.5.0.1"], include_str!("../../js/k6chaijs.js")),
    ("papaparse", &["5.1.1"], include_str!("../../js/papaparse.js")),
    ("totp", &["1.0.0"], include_str!("../../js/totp.js")),
    ("url", &["1.0.0"], include_str!("../../js/url.js")),
];

/// Our source for an import of this URL, if there is one.
pub fn find(url: &str) -> Option<Replacement> {
    let mut steps = url.strip_prefix(HOST)?.split('/');
    let (library, version, file) = (steps.next()?, steps.next()?, steps.next()?);
    if file != "index.js" || steps.next().is_some() {
        return None;
    }
    let found =
        LIBRARIES.iter().find(|(name, versions, _)| *name == library && versions.contains(&version))?;
    Some(Replacement { library: found.0, source: found.2 })
}

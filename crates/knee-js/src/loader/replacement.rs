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

/// A library, the versions of it that our source answers, and the files that the source imports from beside it.
struct Library {
    name: &'static str,
    versions: &'static [&'static str],
    source: &'static str,
    parts: &'static [(&'static str, &'static str)],
}

/// A library of one file.
const fn one(name: &'static str, versions: &'static [&'static str], source: &'static str) -> Library {
    Library { name, versions, source, parts: &[] }
}

/// One release of k6chaijs.
const fn chai(versions: &'static [&'static str], source: &'static str) -> Library {
    Library { name: "k6chaijs", versions, source, parts: CHAI }
}

/// The files that the releases of k6chaijs share.
const CHAI: &[(&str, &str)] = &[
    ("assert.js", include_str!("../../js/k6chaijs/assert.js")),
    ("calls.js", include_str!("../../js/k6chaijs/calls.js")),
    ("chain.js", include_str!("../../js/k6chaijs/chain.js")),
    ("checks.js", include_str!("../../js/k6chaijs/checks.js")),
    ("equal.js", include_str!("../../js/k6chaijs/equal.js")),
    ("error.js", include_str!("../../js/k6chaijs/error.js")),
    ("inspect.js", include_str!("../../js/k6chaijs/inspect.js")),
    ("inspect-lines.js", include_str!("../../js/k6chaijs/inspect-lines.js")),
    ("library.js", include_str!("../../js/k6chaijs/library.js")),
    ("members.js", include_str!("../../js/k6chaijs/members.js")),
    ("numbers.js", include_str!("../../js/k6chaijs/numbers.js")),
    ("path.js", include_str!("../../js/k6chaijs/path.js")),
    ("property.js", include_str!("../../js/k6chaijs/property.js")),
    ("should.js", include_str!("../../js/k6chaijs/should.js")),
    ("type.js", include_str!("../../js/k6chaijs/type.js")),
    ("words.js", include_str!("../../js/k6chaijs/words.js")),
];

/// The libraries.
const LIBRARIES: &[Library] = &[
    Library {
        name: "formdata",
        versions: &["0.0.1"],
        source: include_str!("../../js/formdata-0.0.1.js"),
        parts: &[("formdata.js", include_str!("../../js/formdata.js"))],
    },
    one("formdata", &["0.0.2"], include_str!("../../js/formdata.js")),
    one("k6-summary", &["0.0.1", "0.0.2", "0.0.3", "0.0.4", "0.1.0"], include_str!("../../js/k6-summary.js")),
    Library {
        name: "k6-utils",
        versions: &["1.0.0", "1.1.0"],
        source: include_str!("../../js/k6-utils-1.1.js"),
        parts: &[("k6-utils.js", include_str!("../../js/k6-utils.js"))],
    },
    one("k6-utils", &["1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"], include_str!("../../js/k6-utils.js")),
    one(
        "httpx",
        &["0.0.1", "0.0.2", "0.0.3", "0.0.4", "0.0.5", "0.0.6", "0.1.0"],
        include_str!("../../js/httpx.js"),
    ),
    chai(&["4.3.4.0"], include_str!("../../js/k6chaijs/release-4.3.4.0.js")),
    chai(&["4.3.4.1"], include_str!("../../js/k6chaijs/release-4.3.4.1.js")),
    chai(&["4.3.4.2"], include_str!("../../js/k6chaijs/release-4.3.4.2.js")),
    chai(&["4.3.4.3"], include_str!("../../js/k6chaijs/release-4.3.4.3.js")),
    chai(&["4.5.0.0"], include_str!("../../js/k6chaijs/release-4.5.0.0.js")),
    chai(&["4.5.0.1"], include_str!("../../js/k6chaijs/release-4.5.0.1.js")),
    one("papaparse", &["5.1.1"], include_str!("../../js/papaparse.js")),
    one("totp", &["1.0.0"], include_str!("../../js/totp.js")),
    one("url", &["1.0.0"], include_str!("../../js/url.js")),
];

/// Our source for an import of this URL, if there is one.
pub fn find(url: &str) -> Option<Replacement> {
    let mut steps = url.strip_prefix(HOST)?.split('/');
    let (library, version, file) = (steps.next()?, steps.next()?, steps.next()?);
    if steps.next().is_some() {
        return None;
    }
    let found = LIBRARIES.iter().find(|known| known.name == library && known.versions.contains(&version))?;
    let part = found.parts.iter().find(|(name, _)| *name == file).map(|(_, source)| *source);
    let source = if file == "index.js" { found.source } else { part? };
    Some(Replacement { library: found.name, source })
}

//! Resolves the text after `from` by k6's rules.
//!
//! Only reads texts and opens nothing: whether a file exists and is readable shows when it is read.

use std::path::{Component, Path, PathBuf};

use url::Url;

use super::trouble::Trouble;

/// Prefix of file names.
const FILE: &str = "file://";

/// The name of the module that `specifier` means in the module called `base`. Names are `k6/http`,
/// `file:///folder/script.js` or `https://host/module.js`.
pub fn resolve(base: &str, specifier: &str) -> Result<String, Trouble> {
    if specifier == "k6" || specifier.starts_with("k6/") {
        return Ok(specifier.to_owned());
    }
    if specifier.starts_with(['.', '/']) {
        return relative(base, specifier);
    }
    if specifier.contains("://") {
        return absolute(base, specifier);
    }
    let what = match specifier {
        "" => "the import of an empty name, local or remote path required".to_owned(),
        name => format!("The moduleSpecifier {name:?} couldn't be recognised as something knee supports"),
    };
    let hint = "write ./ or ../ before the name of a file; bundle npm packages into one file first";
    Err(Trouble::new(what, hint))
}

/// The path of a module that is a file.
pub fn path_of(name: &str) -> Option<&Path> {
    name.strip_prefix(FILE).map(Path::new)
}

/// The name of the module in this file. The path is absolute.
pub fn name_of(path: &Path) -> String {
    format!("{FILE}{}", tidy(path).display())
}

/// What stands after the last dot of a module's name, by which it is known what it holds.
pub fn ending_of(name: &str) -> Option<&str> {
    let path = name.split(['?', '#']).next().unwrap_or(name);
    let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    Some(ending)
}

fn relative(base: &str, specifier: &str) -> Result<String, Trouble> {
    if let Ok(base) = Url::parse(base)
        && base.scheme() == "https"
    {
        let joined = base.join(specifier);
        let joined = joined.map_err(|error| Trouble::new(format!("{specifier:?}: {error}"), ""))?;
        return remote(joined, specifier);
    }
    let folder = path_of(base).and_then(Path::parent).unwrap_or_else(|| Path::new("/"));
    Ok(name_of(&folder.join(specifier)))
}

fn absolute(base: &str, specifier: &str) -> Result<String, Trouble> {
    let url = Url::parse(specifier);
    let url = url.map_err(|error| Trouble::new(format!("{specifier:?} is no URL: {error}"), ""))?;
    if url.scheme() != "file" {
        return remote(url, specifier);
    }
    if base.starts_with("https://") {
        let what = format!("origin ({base}) not allowed to load local file: {specifier}");
        return Err(Trouble::new(what, "modules from the network cannot import files of this machine"));
    }
    let path = url.to_file_path();
    let path = path.map_err(|()| Trouble::new(format!("{specifier:?} names no file of this machine"), ""))?;
    Ok(name_of(&path))
}

fn remote(url: Url, specifier: &str) -> Result<String, Trouble> {
    if url.scheme() == "https" {
        return Ok(url.into());
    }
    let what =
        format!("only supported schemes for imports are file and https, {specifier} has `{}`", url.scheme());
    let hint = if url.scheme() == "http" { "write https://" } else { "" };
    Err(Trouble::new(what, hint))
}

/// The path without `.` and `..`. As in k6, links are not followed: `./x.js` in a file that was reached by a
/// link is beside the link.
pub fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                tidied.pop();
            }
            other => tidied.push(other),
        }
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(base: &str, specifier: &str) -> String {
        resolve(base, specifier).unwrap_or_else(|trouble| format!("no: {trouble}"))
    }

    #[test]
    fn a_specifier_means_what_it_means_to_k6() {
        let script = "file:///home/me/tests/script.js";
        let remote = "https://jslib.k6.io/httpx/0.1.0/index.js";
        let table = [
            (script, "k6/http", "k6/http"),
            (script, "./lib/a.js", "file:///home/me/tests/lib/a.js"),
            (script, "../lib/./b.ts", "file:///home/me/lib/b.ts"),
            (script, "../../../../../x.js", "file:///x.js"),
            (script, "/abs/x.js", "file:///abs/x.js"),
            (script, "file:///abs/a%20b.js", "file:///abs/a b.js"),
            ("file:///a b/s.js", "./c.js", "file:///a b/c.js"),
            (script, "https://host/x.js?v=1", "https://host/x.js?v=1"),
            (remote, "./deps.js", "https://jslib.k6.io/httpx/0.1.0/deps.js"),
            (remote, "/url/1.0.0/index.js", "https://jslib.k6.io/url/1.0.0/index.js"),
            (remote, "k6/http", "k6/http"),
        ];
        for (base, specifier, expected) in table {
            assert_eq!(found(base, specifier), expected, "{specifier} in {base}");
        }
    }

    #[test]
    fn the_ending_is_that_of_the_path() {
        assert_eq!(ending_of("file:///a.b/script.test.ts"), Some("ts"));
        assert_eq!(ending_of("https://h/x.js?y=z.ts#q.json"), Some("js"));
        assert_eq!(ending_of("file:///folder.ts/script"), None);
    }

    #[test]
    fn what_cannot_be_imported_is_reported_in_k6s_words() {
        let script = "file:///home/me/script.js";
        let remote = "https://host/x.js";
        let table = [
            (script, "lodash", "The moduleSpecifier \"lodash\" couldn't be recognised"),
            (script, "", "local or remote path required"),
            (script, "http://host/x.js", "only supported schemes for imports are file and https"),
            (script, "ftp://host/x.js", "has `ftp`"),
            (remote, "file:///etc/passwd", "not allowed to load local file"),
        ];
        for (base, specifier, expected) in table {
            let said = found(base, specifier);
            assert!(said.starts_with("no: ") && said.contains(expected), "{specifier} in {base}: {said}");
        }
    }
}

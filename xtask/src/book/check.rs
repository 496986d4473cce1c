//! Every link of the built book leads to a file of the book, and to a place that its page has.
//!
//! Looks at files alone, never at other hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use percent_encoding::percent_decode_str;

use super::page::Page;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Number of links within the book.
    pub links: usize,
    /// Links that lead nowhere.
    pub faults: Vec<Fault>,
}

/// A link that leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The page with the link, relative to the book.
    page: String,
    /// Where the link leads, as the page says it.
    link: String,
    /// What is not there.
    missing: Missing,
}

#[derive(Debug, PartialEq, Eq)]
enum Missing {
    /// The file or folder.
    File(String),
    /// The place in a page that is there.
    Place(String, String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { page, link, missing } = self;
        let text = page.strip_suffix(".html").map_or_else(|| page.clone(), |stem| format!("{stem}.md"));
        match missing {
            Missing::File(file) => {
                write!(f, "the book has no `{file}`, to which `{link}` in {page} leads\n\n")?;
                write!(f, "hint: correct the link in {text}, or name the page in docs/SUMMARY.md")
            }
            Missing::Place(file, place) => {
                write!(f, "`{file}` has no heading `#{place}`, to which `{link}` in {page} leads\n\n")?;
                write!(f, "hint: correct the link in {text}")
            }
        }
    }
}

/// Checks all pages below the folder `book`.
pub fn check(book: &Path) -> Result<Found> {
    let mut files = Files::default();
    files.read(book, "")?;
    let mut found = Found::default();
    for (path, page) in files.0.iter().filter_map(|(path, page)| Some((path, page.as_ref()?))) {
        for link in page.links.iter().filter(|link| is_within(link)) {
            found.links += 1;
            if let Some(missing) = files.missing(path, link) {
                found.faults.push(Fault { page: path.clone(), link: link.clone(), missing });
            }
        }
    }
    Ok(found)
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "html")
}

/// Whether a link has no scheme and no host.
fn is_within(link: &str) -> bool {
    let scheme = link.split(['/', '?', '#']).next().unwrap_or_default();
    !scheme.contains(':') && !link.starts_with("//")
}

/// The files of the book by path, and what the pages among them say.
#[derive(Debug, Default)]
struct Files(BTreeMap<String, Option<Page>>);

impl Files {
    /// Adds everything in `folder`, which has the path `path` in the book.
    fn read(&mut self, folder: &Path, path: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let name = format!("{path}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                self.read(&entry.path(), &format!("{name}/"))?;
            } else {
                let page =
                    if is_page(&name) { Some(Page::read(&fs::read_to_string(entry.path())?)) } else { None };
                self.0.insert(name, page);
            }
        }
        Ok(())
    }

    /// What is not there of that to which a link in a page leads.
    fn missing(&self, page: &str, link: &str) -> Option<Missing> {
        let (rest, place) = link.split_once('#').unwrap_or((link, ""));
        let target = rest.split('?').next().unwrap_or_default();
        let place = percent_decode_str(place).decode_utf8_lossy();
        let file = if target.is_empty() { Some(page.to_owned()) } else { resolved(page, target) };
        let Some((file, found)) = file.and_then(|file| self.at(&file)) else {
            return Some(Missing::File(target.to_owned()));
        };
        match found {
            Some(found) if !place.is_empty() && !found.places.contains(&*place) => {
                Some(Missing::Place(file, place.into_owned()))
            }
            _ => None,
        }
    }

    /// The file at a path, or the first page of a folder.
    fn at(&self, path: &str) -> Option<(String, Option<&Page>)> {
        let index = if path.is_empty() { "index.html".to_owned() } else { format!("{path}/index.html") };
        [path.to_owned(), index].into_iter().find_map(|path| {
            let page = self.0.get(&path)?.as_ref();
            Some((path, page))
        })
    }
}

/// Where a link in `page` leads within the book; none if it leaves the book.
fn resolved(page: &str, target: &str) -> Option<String> {
    let target = percent_decode_str(target).decode_utf8_lossy();
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pages: &[(&str, &str)]) -> Files {
        let page = |path: &str, html: &str| is_page(path).then(|| Page::read(html));
        Files(pages.iter().map(|(path, html)| ((*path).to_owned(), page(path, html))).collect())
    }

    #[test]
    fn a_link_leads_to_a_file_a_place_or_a_folder_of_the_book() {
        let files = files(&[
            ("docs/a.html", "<h1 id=\"top\">"),
            ("docs/b.html", "<h2 id=\"größe\">"),
            ("docs/p.svg", ""),
            ("deploy/index.html", ""),
        ]);
        let there = [
            "b.html",
            "b.html#gr%C3%B6%C3%9Fe",
            "#top",
            "#",
            "p.svg#any",
            "../deploy",
            "../deploy/",
            "./b.html?x=1",
        ];
        for link in there {
            assert_eq!(files.missing("docs/a.html", link), None, "{link}");
        }
        for link in ["c.html", "../b.html", "/docs/b.html", "../../docs/b.html", "../labs"] {
            let missing = Some(Missing::File(link.to_owned()));
            assert_eq!(files.missing("docs/a.html", link), missing, "{link}");
        }
        let missing = Missing::Place("docs/b.html".to_owned(), "top".to_owned());
        assert_eq!(files.missing("docs/a.html", "b.html#top"), Some(missing));
    }

    #[test]
    fn other_hosts_and_schemes_are_not_followed() {
        for link in ["https://docs.rs/", "mailto:a@b.test", "//docs.rs/", "data:image/png;base64,AA"] {
            assert!(!is_within(link), "{link}");
        }
        assert!(is_within("a.html") && is_within("#a:b") && is_within("../a/b:c"));
    }

    #[test]
    fn a_fault_names_the_page_the_link_and_the_text_to_change() {
        let missing = Missing::Place("docs/b.html".to_owned(), "x".to_owned());
        let fault = Fault { page: "docs/a.html".to_owned(), link: "b.html#x".to_owned(), missing };
        let said = "`docs/b.html` has no heading `#x`, to which `b.html#x` in docs/a.html leads\n\nhint: correct the link in docs/a.md";
        assert_eq!(fault.to_string(), said);
    }
}

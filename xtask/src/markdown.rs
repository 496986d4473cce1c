//! Links of Markdown documents, and the paths of this repository to which they lead.
//!
//! Does not look whether anything is there, and does not read headings.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// A link or an image.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, as the document says it.
    pub target: String,
    /// Line of the document, from 1.
    pub line: usize,
    /// Bytes of the whole link.
    pub range: Range<usize>,
}

/// All links and images of a document, also those in tables.
pub fn links(text: &str) -> Vec<Link> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let found = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let line = 1 + text[..range.start].matches('\n').count();
            Some(Link { target: dest_url.to_string(), line, range })
        }
        _ => None,
    });
    found.collect()
}

/// The path from the root of the repository to which a link of `document` leads, if the link stays in the repository.
pub fn path(document: &str, target: &str) -> Option<String> {
    let (path, _anchor) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<_> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // A link cannot name anything above the root.
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_images_are_found_with_their_lines_and_code_is_not() {
        let text = "# A\n[a](b.md#c) `[x](y)`\n\n| a |\n|---|\n| ![d](e.svg) |\n";
        let found: Vec<_> = links(text).into_iter().map(|link| (link.target, link.line)).collect();
        assert_eq!(found, [("b.md#c".to_owned(), 2), ("e.svg".to_owned(), 6)]);
    }

    #[test]
    fn a_path_begins_at_the_root_and_other_hosts_and_anchors_have_none() {
        let rows = [
            ("a.md", Some("docs/guide/a.md")),
            ("../../labs/x/", Some("labs/x")),
            ("./b.md#part", Some("docs/guide/b.md")),
            ("#part", None),
            ("https://docs.rs/", None),
            ("mailto:a@b.test", None),
            ("", None),
        ];
        for (target, expected) in rows {
            assert_eq!(path("docs/guide/x.md", target).as_deref(), expected, "{target}");
        }
    }
}

//! Pages of HTML: their links and what can be linked to in them, and the two plain pages that mdBook does not write.
//!
//! Reads pages as a browser splits them. Does not follow links.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// What a page says about links.
#[derive(Debug, Default)]
pub struct Page {
    /// Names of its places, which links name behind `#`.
    pub places: BTreeSet<String>,
    /// Where its links, pictures, styles and scripts lead, as it says it.
    pub links: BTreeSet<String>,
}

impl Page {
    /// Reads a page.
    pub fn read(html: &str) -> Self {
        let input = BufferQueue::default();
        input.push_back(html.into());
        let tokenizer = Tokenizer::new(Reader::default(), TokenizerOpts::default());
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        tokenizer.sink.0.into_inner()
    }

    fn add(&mut self, tag: &Tag) {
        for attribute in &tag.attrs {
            let value = attribute.value.to_string();
            match (&*tag.name, &*attribute.name.local) {
                (_, "id") | ("a", "name") => _ = self.places.insert(value),
                (_, "href" | "src" | "poster") | ("object", "data") => _ = self.links.insert(value),
                _ => {}
            }
        }
    }
}

#[derive(Default)]
struct Reader(RefCell<Page>);

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        if tag.kind == TagKind::EndTag {
            return TokenSinkResult::Continue;
        }
        self.0.borrow_mut().add(&tag);
        match &*tag.name {
            "style" => TokenSinkResult::RawData(RawKind::Rawtext),
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            _ => TokenSinkResult::Continue,
        }
    }
}

/// A page that leads to another one.
pub fn redirection(to: &str) -> String {
    let refresh = format!("<meta http-equiv=\"refresh\" content=\"0; url={to}\">");
    plain("knee", &refresh, &format!("<p><a href=\"{to}\">The book</a></p>"))
}

/// A page that lists the files of a folder.
pub fn listing(folder: &str, names: &[String]) -> String {
    let mut items = String::new();
    for name in names {
        // Writing into a String cannot fail.
        let _ = write!(items, "<li><a href=\"{name}\">{name}</a></li>");
    }
    plain(folder, "", &format!("<h1>{folder}</h1><ul>{items}</ul>"))
}

fn plain(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" \
         content=\"light dark\">{head}<title>{title}</title></head><body>{body}</body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(page: &Page) -> Vec<&str> {
        page.links.iter().map(String::as_str).collect()
    }

    #[test]
    fn links_and_places_of_a_page_are_found_and_those_in_scripts_are_not() {
        let html = "<h1 id=\"top\">A</h1><a name=old href='b.html#c&amp;d'>b</a><img src=x.svg>\
                    <script>let a = '<a href=\"no.html\">';</script><!-- <a href=\"no.html\"> --><p id=end>";
        let page = Page::read(html);
        assert_eq!(links(&page), ["b.html#c&d", "x.svg"]);
        assert_eq!(page.places.into_iter().collect::<Vec<_>>(), ["end", "old", "top"]);
    }

    #[test]
    fn plain_pages_lead_where_they_say() {
        assert_eq!(links(&Page::read(&redirection("docs/README.html"))), ["docs/README.html"]);
        let listing = Page::read(&listing("a/b", &["one.js".into(), "two.js".into()]));
        assert_eq!(links(&listing), ["one.js", "two.js"]);
    }
}

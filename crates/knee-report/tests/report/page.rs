//! Reads a page as a browser splits it: elements with their attributes and texts, and everything that is not well
//! formed.
//!
//! Stricter than a browser: each element that is not empty by its nature must be closed where it was opened.

use std::cell::RefCell;
use std::collections::BTreeMap;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Elements without an end.
const EMPTY: [&str; 5] = ["meta", "link", "br", "hr", "input"];

/// An element.
#[derive(Clone, Debug, Default)]
pub struct Element {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    /// All text within, also that of elements within.
    pub text: String,
}

impl Element {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    pub fn has_class(&self, class: &str) -> bool {
        self.get("class").is_some_and(|classes| classes.split(' ').any(|one| one == class))
    }
}

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// All elements, in the order of their begin.
    pub elements: Vec<Element>,
    /// What is not well formed.
    pub faults: Vec<String>,
}

impl Page {
    pub fn read(html: &str) -> Self {
        let input = BufferQueue::default();
        input.push_back(html.into());
        let options = TokenizerOpts { exact_errors: true, ..TokenizerOpts::default() };
        let tokenizer = Tokenizer::new(Reader::default(), options);
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        let Reader(state) = tokenizer.sink;
        let State { mut page, open } = state.into_inner();
        page.faults.extend(open.iter().map(|index| format!("{} is not closed", page.elements[*index].name)));
        page
    }

    pub fn all(&self, name: &str) -> Vec<&Element> {
        self.elements.iter().filter(|element| element.name == name).collect()
    }

    pub fn of_class(&self, class: &str) -> Vec<&Element> {
        self.elements.iter().filter(|element| element.has_class(class)).collect()
    }

    /// Headings with their levels.
    pub fn headings(&self) -> Vec<(u32, &str)> {
        let level = |element: &Element| element.name.strip_prefix('h')?.parse().ok();
        let headings =
            self.elements.iter().filter_map(|element| Some((level(element)?, element.text.as_str())));
        headings.collect()
    }
}

#[derive(Default)]
struct State {
    page: Page,
    /// Elements that are not closed yet.
    open: Vec<usize>,
}

#[derive(Default)]
struct Reader(RefCell<State>);

impl State {
    fn tag(&mut self, tag: &Tag) {
        let name = tag.name.to_string();
        if tag.kind == TagKind::EndTag {
            match self.open.pop().map(|index| self.page.elements[index].name.clone()) {
                Some(opened) if opened == name => {}
                opened => self.page.faults.push(format!("</{name}> closes {opened:?}")),
            }
            return;
        }
        let attributes = tag.attrs.iter().map(|one| (one.name.local.to_string(), one.value.to_string()));
        let element = Element { name: name.clone(), attributes: attributes.collect(), text: String::new() };
        let in_svg = self.open.iter().any(|index| self.page.elements[*index].name == "svg");
        match (tag.self_closing, EMPTY.contains(&name.as_str())) {
            // Only a picture can have elements that close themselves.
            (true, _) if !in_svg => self.page.faults.push(format!("<{name}/> closes nothing")),
            (true, _) | (false, true) => {}
            (false, false) => self.open.push(self.page.elements.len()),
        }
        self.page.elements.push(element);
    }
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        let state = &mut *self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => {
                state.open.iter().for_each(|index| state.page.elements[*index].text.push_str(&text));
            }
            Token::ParseError(error) => state.page.faults.push(format!("line {line}: {error}")),
            Token::NullCharacterToken => state.page.faults.push(format!("line {line}: NUL")),
            Token::CommentToken(text) => state.page.faults.push(format!("line {line}: comment {text}")),
            Token::DoctypeToken(_) | Token::EOFToken => {}
            Token::TagToken(tag) => {
                state.tag(&tag);
                return match (tag.kind, &*tag.name) {
                    (TagKind::StartTag, "style") => TokenSinkResult::RawData(RawKind::Rawtext),
                    (TagKind::StartTag, "script") => TokenSinkResult::RawData(RawKind::ScriptData),
                    _ => TokenSinkResult::Continue,
                };
            }
        }
        TokenSinkResult::Continue
    }
}

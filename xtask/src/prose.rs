//! What people read in this repository: Markdown, comments and strings of Rust, names that are sentences, and texts
//! of a study.
//!
//! Takes fragments of prose out of files, each with the line it begins on. Does not judge them; code spans
//! stay as they are written, between backticks, and code blocks are left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Literal, Spacing, Span, TokenStream, TokenTree};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A paragraph, a heading, a table cell, an item of a list, or a string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The prose on one line, code spans between backticks.
    pub text: String,
    /// The first cell of the table row that the fragment is a later cell of.
    pub row: Option<String>,
    /// Where each piece of `text` begins: byte offset, line of the file from 1.
    lines: Vec<(usize, usize)>,
}

impl Fragment {
    fn of(text: String, line: usize) -> Self {
        Self { text, row: None, lines: vec![(0, line)] }
    }

    /// Adds a piece of text that stands on this line of the file.
    fn push(&mut self, piece: &str, line: usize) {
        self.lines.push((self.text.len(), line));
        self.text.push_str(piece);
    }

    /// The line of the file on which the byte at `offset` of the text stands.
    pub fn line_at(&self, offset: usize) -> usize {
        let next = self.lines.partition_point(|(start, _)| *start <= offset);
        self.lines[next.saturating_sub(1)].1
    }

    /// The text with every code span replaced by spaces, so that offsets stay.
    pub fn without_code(&self) -> String {
        let mut inside = false;
        let blank = |c: char| " ".repeat(c.len_utf8());
        let one = |c: char| match c {
            '`' => {
                inside = !inside;
                " ".to_owned()
            }
            c if inside => blank(c),
            c => c.to_string(),
        };
        self.text.chars().map(one).collect()
    }
}

/// The prose of a Markdown text.
pub fn of_markdown(text: &str) -> Vec<Fragment> {
    let mut fragments = Vec::new();
    let mut open = Fragment::default();
    let mut in_code_block = false;
    let mut row = None;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let piece = match event {
            Event::Text(piece) if !in_code_block => piece.to_string(),
            // A backtick within a code span would end it for every later reader.
            Event::Code(code) => format!("`{}`", code.replace('`', "'")),
            Event::SoftBreak | Event::HardBreak => " ".to_owned(),
            Event::Start(Tag::CodeBlock(_)) => {
                in_code_block = true;
                continue;
            }
            Event::End(TagEnd::CodeBlock) => {
                in_code_block = false;
                continue;
            }
            Event::Start(ref tag) if is_inline(tag.to_end()) => continue,
            Event::End(tag) if is_inline(tag) => continue,
            Event::Start(Tag::TableRow) | Event::End(TagEnd::TableRow) => {
                row = None;
                continue;
            }
            Event::End(TagEnd::TableCell) => {
                let first = open.text.trim().to_owned();
                open.row = row.clone().filter(|row: &String| !row.is_empty());
                close(&mut open, &mut fragments);
                row.get_or_insert(first);
                continue;
            }
            Event::Start(_) | Event::End(_) => {
                close(&mut open, &mut fragments);
                continue;
            }
            _ => continue,
        };
        open.push(&piece, 1 + text[..range.start].matches('\n').count());
    }
    close(&mut open, &mut fragments);
    fragments
}

fn is_inline(tag: TagEnd) -> bool {
    matches!(tag, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

fn close(open: &mut Fragment, fragments: &mut Vec<Fragment>) {
    let closed = std::mem::take(open);
    if !closed.text.trim().is_empty() {
        fragments.push(closed);
    }
}

/// What a Rust file says to people outside of its tests.
#[derive(Debug, Default)]
pub struct Rust {
    /// Documentation comments, parsed as Markdown.
    pub docs: Vec<Fragment>,
    /// Of these, the ones that `--help` prints: of arguments and of variants.
    pub help: Vec<Fragment>,
    /// Strings of three words or more that the program can print, those in attributes included.
    pub strings: Vec<Fragment>,
    /// Strings of three words or more that users never read: proofs, reasons of lints, code in other languages.
    pub internal: Vec<Fragment>,
    /// Comments that document nothing, those of tests included.
    pub comments: Vec<Fragment>,
    /// Names of functions of three words or more, with blanks between the words, those of tests included.
    pub names: Vec<Fragment>,
    /// Modules in files of their own that exist only in tests.
    pub test_modules: Vec<String>,
}

/// The prose of a Rust file; nothing if the text is not Rust.
pub fn of_rust(text: &str) -> Rust {
    let mut found = Found::default();
    let mut comments = Vec::new();
    if let Ok(stream) = text.parse::<TokenStream>() {
        comments = plain_comments(text, stream.clone());
        found.names(stream.clone());
        found.walk(stream);
    }
    Rust {
        docs: paragraphs(&found.docs),
        help: paragraphs(&found.help),
        strings: found.strings,
        internal: found.internal,
        comments,
        names: found.names,
        test_modules: found.test_modules,
    }
}

#[derive(Default)]
struct Found {
    /// Line and text of every line of documentation.
    docs: Vec<(usize, String)>,
    /// The same of what `--help` prints.
    help: Vec<(usize, String)>,
    strings: Vec<Fragment>,
    internal: Vec<Fragment>,
    names: Vec<Fragment>,
    test_modules: Vec<String>,
    /// Whether users read the strings that are found now.
    is_internal: bool,
    /// Whether the tokens are the variants of an enum that lists choices of the command line.
    is_choice: bool,
    /// Whether the next enum lists such choices.
    has_choices: bool,
}

/// The documentation of the item that comes next.
#[derive(Default)]
struct Documented {
    lines: Vec<(usize, String)>,
    is_argument: bool,
}

impl Documented {
    /// The lines if `--help` prints them, that is for an argument or a variant but not for a type.
    fn take(&mut self, is_variant: bool, is_type: bool) -> Vec<(usize, String)> {
        let Self { lines, is_argument } = std::mem::take(self);
        if !is_type && (is_argument || is_variant) { lines } else { Vec::new() }
    }
}

/// Functions and macros whose strings say why something cannot happen.
const PROOFS: &[&str] =
    &["assert", "assert_eq", "debug_assert", "debug_assert_eq", "expect", "expect_err", "unreachable"];

/// Attributes whose strings are for the compiler and for maintainers.
const FOR_MAINTAINERS: &[&str] =
    &["allow", "cfg", "cfg_attr", "deny", "deprecated", "expect", "must_use", "serde", "warn"];

impl Found {
    fn names(&mut self, stream: TokenStream) {
        let mut after_fn = false;
        for tree in stream {
            match tree {
                TokenTree::Ident(name) if after_fn => {
                    let text = name.to_string().replace('_', " ");
                    if text.split(' ').count() >= 3 {
                        self.names.push(Fragment::of(text, name.span().start().line));
                    }
                    after_fn = false;
                }
                TokenTree::Ident(word) => after_fn = word == "fn",
                TokenTree::Group(group) => {
                    after_fn = false;
                    self.names(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => after_fn = false,
            }
        }
    }

    fn walk(&mut self, stream: TokenStream) {
        let mut trees = stream.into_iter().peekable();
        let mut is_test = false;
        // The names before the current token: of a function or macro, and of the word before.
        let mut called = String::new();
        let mut before = String::new();
        let mut documented = Documented::default();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Ident(word) => {
                    before = std::mem::replace(&mut called, word.to_string());
                    if !["pub", "crate"].contains(&called.as_str()) {
                        let is_type =
                            ["struct", "enum", "type", "fn", "mod", "use"].contains(&called.as_str());
                        self.help.extend(documented.take(!is_type && self.is_choice, is_type));
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    // `#![...]` has a mark between the two.
                    let inner = matches!(trees.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
                    if inner {
                        trees.next();
                    }
                    if let Some(TokenTree::Group(group)) = trees.peek()
                        && group.delimiter() == Delimiter::Bracket
                    {
                        let attribute = group.stream();
                        is_test |= !inner && is_for_tests(&attribute);
                        trees.next();
                        let known = self.docs.len();
                        let is_argument = self.attribute(attribute);
                        if !inner {
                            documented.lines.extend_from_slice(&self.docs[known..]);
                            documented.is_argument |= is_argument;
                        }
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ';' && mark.spacing() == Spacing::Alone => {
                    if is_test && before == "mod" {
                        self.test_modules.push(called.clone());
                    }
                    is_test = false;
                }
                TokenTree::Group(group) if is_test && group.delimiter() == Delimiter::Brace => {
                    is_test = false;
                }
                TokenTree::Group(group) if before == "enum" && group.delimiter() == Delimiter::Brace => {
                    let choices = std::mem::take(&mut self.has_choices);
                    let outside = std::mem::replace(&mut self.is_choice, choices);
                    self.walk(group.stream());
                    self.is_choice = outside;
                    before.clear();
                }
                TokenTree::Group(group) => {
                    let is_proof = group.delimiter() == Delimiter::Parenthesis
                        && PROOFS.contains(&std::mem::take(&mut called).as_str());
                    self.walk_as(is_proof, group.stream());
                }
                TokenTree::Literal(literal) if !is_test => self.literal(&literal),
                _ => {}
            }
        }
    }

    /// Takes what an attribute says; returns whether it makes its item an argument of the command line.
    fn attribute(&mut self, attribute: TokenStream) -> bool {
        let trees: Vec<TokenTree> = attribute.clone().into_iter().collect();
        if let [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(literal)] = trees.as_slice()
            && name == "doc"
        {
            // A block comment is one literal of several lines.
            let first = literal.span().start().line;
            let text = value(literal).unwrap_or_default();
            self.docs.extend(text.lines().enumerate().map(|(index, line)| (first + index, line.to_owned())));
            false
        } else {
            let name = trees.first().map(ToString::to_string).unwrap_or_default();
            let text = attribute.to_string();
            self.has_choices |= text.contains("ValueEnum") || text.contains("Subcommand");
            self.walk_as(FOR_MAINTAINERS.contains(&name.as_str()), attribute);
            let is_shown = !text.contains("flatten") && !text.contains("hide = true");
            is_shown && ["arg", "command", "value"].contains(&name.as_str())
        }
    }

    /// Walks through tokens whose strings are internal; if not, they are what the strings around them are.
    fn walk_as(&mut self, is_internal: bool, stream: TokenStream) {
        let outside = self.is_internal;
        self.is_internal |= is_internal;
        self.walk(stream);
        self.is_internal = outside;
    }

    fn literal(&mut self, literal: &Literal) {
        let text = value(literal).unwrap_or_default();
        if text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count() >= 3 {
            let fragments = lines_of_string(&text, literal.span().start().line);
            if self.is_internal || is_code(&text) {
                self.internal.extend(fragments);
            } else {
                self.strings.extend(fragments);
            }
        }
    }
}

/// The lines of a string. Lines without indentation that follow one another are one paragraph.
fn lines_of_string(text: &str, first: usize) -> Vec<Fragment> {
    let mut fragments: Vec<Fragment> = Vec::new();
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        let is_plain = line.starts_with(char::is_alphanumeric);
        match fragments.last_mut() {
            Some(open) if goes_on && is_plain => {
                open.push(" ", first + index - 1);
                open.push(line.trim(), first + index);
            }
            _ if !line.trim().is_empty() => {
                fragments.push(Fragment::of(line.trim().to_owned(), first + index));
            }
            _ => {}
        }
        goes_on = is_plain;
    }
    fragments
}

/// Whether a string is for another program: JavaScript, SQL, HTTP, HTML, a file of settings.
fn is_code(text: &str) -> bool {
    const ANYWHERE: &[&str] =
        &["=>", "\r\n", "</", "import.meta", "/dev/null", "Content-Length:", "daemonize"];
    const FIRST: &[&str] =
        &["ALTER", "CREATE", "DROP", "SELECT", "SET", "VACUUM", "class", "const", "export"];
    let first = text.split_whitespace().next().unwrap_or_default();
    ANYWHERE.iter().any(|mark| text.contains(mark))
        || FIRST.contains(&first)
        || text.trim_end().ends_with([';', '{', '='])
}

fn value(literal: &Literal) -> Option<String> {
    match syn::Lit::new(literal.clone()) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// `test` or `cfg(test)`, also within `cfg(all(test, ...))`.
fn is_for_tests(attribute: &TokenStream) -> bool {
    let text = attribute.to_string();
    text == "test" || text.starts_with("cfg") && text.contains("test") && !text.contains("not")
}

/// The comments between the tokens of a Rust file.
fn plain_comments(text: &str, stream: TokenStream) -> Vec<Fragment> {
    let mut tokens = Vec::new();
    spans(stream, &mut tokens);
    // Behind the last token of each line there is only a comment, if anything.
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    let mut inside = BTreeSet::new();
    for token in tokens {
        let last = token.end();
        inside.extend(token.start().line..last.line);
        let end = ends.entry(last.line).or_default();
        *end = last.column.max(*end);
    }
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let rest: String = line.chars().skip(ends.get(&number).copied().unwrap_or(0)).collect();
        if let Some(comment) = rest.trim_start().strip_prefix("//")
            && !inside.contains(&number)
        {
            lines.push((number, comment.to_owned()));
        }
    }
    paragraphs(&lines)
}

/// The spans of all tokens, in the order of the text.
fn spans(stream: TokenStream, found: &mut Vec<Span>) {
    for tree in stream {
        if let TokenTree::Group(group) = &tree {
            found.push(group.span_open());
            spans(group.stream(), found);
            found.push(group.span_close());
        } else {
            found.push(tree.span());
        }
    }
}

/// The texts of a study and its comments.
pub fn of_study(text: &str) -> Vec<Fragment> {
    const KEYS: &[&str] = &["title", "question", "text", "untestable"];
    let mut comments = Vec::new();
    let mut fragments = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(comment) = line.strip_prefix('#') {
            comments.push((index + 1, comment.to_owned()));
        } else if let Some((key, value)) = line.split_once('=')
            && KEYS.contains(&key.trim())
        {
            fragments.push(Fragment::of(value.trim().trim_matches('"').to_owned(), index + 1));
        }
    }
    fragments.extend(paragraphs(&comments));
    fragments
}

/// Lines of comments that follow one another are one Markdown text.
fn paragraphs(lines: &[(usize, String)]) -> Vec<Fragment> {
    let blocks = lines.chunk_by(|(line, _), (next, _)| line + 1 == *next);
    blocks
        .flat_map(|block| {
            let first = block[0].0;
            let text: Vec<&str> =
                block.iter().map(|(_, line)| line.strip_prefix(' ').unwrap_or(line)).collect();
            let mut fragments = of_markdown(&text.join("\n"));
            for fragment in &mut fragments {
                fragment.lines.iter_mut().for_each(|(_, line)| *line += first - 1);
            }
            fragments
        })
        .collect()
}

#[cfg(test)]
mod tests;

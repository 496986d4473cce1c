//! Reads a page within bounds: of nesting, memory and time.
//!
//! A library parses. It gets the page in small pieces, so that the bounds are checked while it works and not
//! afterwards. Does not select nodes.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use dom_query::{Document, NodeId};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, QualName, parse_document};

use crate::account::{Account, Charge};

/// Most elements that can be open at one place, as under k6.
pub const OPEN_MAX: usize = 512;
/// Most attributes of one tag: the parser compares each with all others.
const ATTRIBUTES_MAX: usize = 10_000;
/// Bytes that are parsed between two checks.
const PIECE: usize = 256;
/// About the memory of a node, and of an attribute.
const NODE_BYTES: usize = 112;
const ATTRIBUTE_BYTES: usize = 64;

/// What bounds the work on pages.
#[derive(Clone)]
pub struct Bounds {
    /// Where the memory of pages counts.
    pub account: Account,
    /// Called from time to time; whether the work must end now.
    pub must_end: Rc<dyn Fn() -> bool>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { account: Account::default(), must_end: Rc::new(|| false) }
    }
}

/// Why a page was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// In k6's words.
    #[error("html: open stack of elements exceeds {OPEN_MAX} nodes")]
    TooDeep,
    /// More than a page has.
    #[error("html: a tag has more than {ATTRIBUTES_MAX} attributes")]
    Attributes,
    /// The memory of the VU is used up.
    #[error("out of memory")]
    OutOfMemory,
    /// [`Bounds::must_end`] said so.
    #[error("interrupted")]
    Ended,
}

/// The page, and its memory.
pub fn read(html: &str, bounds: &Bounds) -> Result<(Document, Charge), PageError> {
    if has_endless_tag(html) {
        return Err(PageError::Attributes);
    }
    let mut charge = bounds.account.charge(html.len()).map_err(|_| PageError::OutOfMemory)?;
    let builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let opts = ParseOpts { tree_builder: builder, ..ParseOpts::default() };
    let mut parser = parse_document(BoundedSink::default(), opts);
    let mut rest = html;
    while !rest.is_empty() {
        let end = (PIECE.min(rest.len())..rest.len()).find(|end| rest.is_char_boundary(*end));
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        parser.process(StrTendril::from(piece));
        let sink = &parser.tokenizer.sink.sink;
        if sink.is_too_deep.get() {
            return Err(PageError::TooDeep);
        }
        charge.set(html.len() + sink.bytes.get()).map_err(|_| PageError::OutOfMemory)?;
        if (bounds.must_end)() {
            return Err(PageError::Ended);
        }
    }
    let BoundedSink { document, is_too_deep, .. } = parser.finish();
    if is_too_deep.get() { Err(PageError::TooDeep) } else { Ok((document, charge)) }
}

/// Whether a tag has more attributes than can be parsed in a reasonable time. Counts generously: the words from a `<`
/// and a letter to the next `>`.
fn has_endless_tag(html: &str) -> bool {
    let (mut words, mut in_tag, mut in_word) = (0, false, false);
    let mut before = b' ';
    for &byte in html.as_bytes() {
        match byte {
            b'>' => in_tag = false,
            _ if before == b'<' && byte.is_ascii_alphabetic() => (in_tag, in_word, words) = (true, true, 0),
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/' => in_word = false,
            _ if in_tag && !in_word => {
                in_word = true;
                words += 1;
                if words > ATTRIBUTES_MAX {
                    return true;
                }
            }
            _ => {}
        }
        before = byte;
    }
    false
}

/// A tree that counts what is put into it.
#[derive(Default)]
struct BoundedSink {
    document: Document,
    /// About the memory of its nodes.
    bytes: Cell<usize>,
    is_too_deep: Cell<bool>,
    /// Elements around the contents of each template, which has no parent in the tree.
    templates: RefCell<HashMap<NodeId, usize>>,
}

impl BoundedSink {
    fn count(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// Notices a node that is put into `parent` and has too many elements around it.
    fn check_depth(&self, parent: NodeId, child: &NodeOrText<NodeId>) {
        if matches!(child, NodeOrText::AppendNode(node) if self.is_element(*node)) {
            let depth = self.depth(parent) + 1;
            // One more than the elements around it: the root of the tree is none.
            if depth > OPEN_MAX {
                self.is_too_deep.set(true);
            }
        }
    }

    fn is_element(&self, node: NodeId) -> bool {
        self.document.tree.get(&node).is_some_and(|node| node.is_element())
    }

    /// Number of elements at and around a node.
    fn depth(&self, node: NodeId) -> usize {
        let tree = &self.document.tree;
        let (mut depth, mut at) = (0, node);
        while depth <= OPEN_MAX {
            let Some(parent) = tree.get(&at).and_then(|node| node.parent()) else {
                let template = self.templates.borrow().get(&at).copied();
                return depth + template.unwrap_or_else(|| usize::from(self.is_element(at)));
            };
            depth += 1;
            at = parent.id;
        }
        depth
    }
}

impl TreeSink for BoundedSink {
    type Handle = NodeId;
    type Output = Self;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Self {
        self
    }

    // They are many, and scripts cannot see them.
    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Ref<'a, QualName> {
        self.document.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        self.count(NODE_BYTES + attrs.len() * ATTRIBUTE_BYTES);
        self.document.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.count(NODE_BYTES);
        self.document.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.count(NODE_BYTES);
        self.document.create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.check_depth(*parent, &child);
        self.count(text_bytes(&child));
        self.document.append(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        self.check_depth(*previous, &child);
        self.count(text_bytes(&child));
        self.document.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.count(NODE_BYTES);
        self.document.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        let contents = self.document.get_template_contents(target);
        if !self.templates.borrow().contains_key(&contents) {
            let depth = self.depth(*target);
            self.templates.borrow_mut().insert(contents, depth);
        }
        contents
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.count(text_bytes(&child));
        self.document.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attrs: Vec<Attribute>) {
        self.count(attrs.len() * ATTRIBUTE_BYTES);
        self.document.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.document.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, parent: &NodeId) {
        self.document.reparent_children(node, parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &NodeId) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(handle)
    }
}

/// The memory of a text that can become a node of its own.
fn text_bytes(child: &NodeOrText<NodeId>) -> usize {
    if matches!(child, NodeOrText::AppendText(_)) { NODE_BYTES } else { 0 }
}

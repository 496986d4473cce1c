//! Pages, and selections of their nodes, as k6's scripts walk through them.
//!
//! A library parses pages and evaluates selectors. Pages are only read, never changed.
//! Knows no JavaScript.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use dom_query::{Document, Matcher, NodeId, NodeRef, Tree};

use crate::account::Charge;

pub mod data;
pub mod form;
mod read;
mod render;
mod selector;

#[cfg(test)]
mod tests;

pub use read::{Bounds, OPEN_MAX, PageError};

/// Nodes that are looked at between two calls of [`Bounds::must_end`].
const NODES_BETWEEN_CALLS: u32 = 256;
/// About the memory of a selection besides its nodes.
const SELECTION_BYTES: usize = 160;

/// A page that was read.
struct Page {
    document: Document,
    /// Its URL; empty if unknown.
    url: Box<str>,
    bounds: Bounds,
    /// Nodes that were looked at.
    seen: Cell<u32>,
    /// Why the work on the page had to end.
    trouble: Cell<Option<PageError>>,
    /// The memory of the document.
    #[allow(dead_code, reason = "it counts as long as it lives")]
    charge: Charge,
}

impl Page {
    /// Whether the next node can be looked at.
    fn goes_on(&self) -> bool {
        let seen = self.seen.get().wrapping_add(1);
        self.seen.set(seen);
        if seen.is_multiple_of(NODES_BETWEEN_CALLS) && (self.bounds.must_end)() {
            self.trouble.set(Some(PageError::Ended));
        }
        self.trouble.get().is_none()
    }

    /// Whether a text of so many bytes is within the VU's memory.
    fn has_room(&self, bytes: usize) -> bool {
        let has_room = bytes <= self.bounds.account.left();
        if !has_room {
            self.trouble.set(Some(PageError::OutOfMemory));
        }
        has_room
    }

    /// Nodes of the page, in the VU's memory.
    fn nodes(&self, ids: Box<[NodeId]>) -> Rc<Nodes> {
        // In proportion to the page, which was charged.
        let charge = self.bounds.account.note(SELECTION_BYTES + size_of_val(&*ids));
        Rc::new(Nodes { ids, charge })
    }
}

/// Nodes, and their memory.
struct Nodes {
    ids: Box<[NodeId]>,
    #[allow(dead_code, reason = "it counts as long as it lives")]
    charge: Charge,
}

/// Some nodes of a page, in the order in which they were found.
#[must_use]
#[derive(Clone)]
pub struct Selection {
    page: Rc<Page>,
    nodes: Rc<Nodes>,
    /// The selection it was made from.
    previous: Option<Rc<Selection>>,
}

/// So that a chain of any length goes without a stack of the same length.
impl Drop for Selection {
    fn drop(&mut self) {
        let mut next = self.previous.take();
        while let Some(mut selection) = next.and_then(Rc::into_inner) {
            next = selection.previous.take();
        }
    }
}

/// A way from a node to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The element behind it.
    Next,
    /// All elements behind it, nearest first.
    NextAll,
    /// The element before it.
    Previous,
    /// All elements before it, nearest first.
    PreviousAll,
    /// The element around it.
    Parent,
    /// All elements around it, nearest first.
    Parents,
    /// All elements beside it.
    Siblings,
    /// The elements in it.
    Children,
    /// Everything in it, text and comments as well.
    Contents,
}

/// A condition that picks nodes.
pub enum Target {
    /// A selector; `None` for an invalid one, which no node matches.
    Fits(Option<Matcher>),
    /// Being one of these.
    OneOf(Selection),
}

impl Target {
    /// Nodes that match a selector.
    pub fn of_selector(selector: &str) -> Self {
        Self::Fits(selector::is_simple(selector).then(|| Matcher::new(selector).ok()).flatten())
    }

    /// Nodes of a selection.
    pub fn of_selection(selection: &Selection) -> Self {
        Self::OneOf(selection.clone())
    }

    fn picks(&self, node: NodeRef<'_>) -> bool {
        match self {
            Self::Fits(matcher) => {
                node.is_element() && matcher.as_ref().is_some_and(|matcher| node.is_match(matcher))
            }
            Self::OneOf(selection) => selection.ids_in(node.tree).contains(&node.id),
        }
    }
}

impl Selection {
    /// Reads a page; the selection is the page as a whole.
    pub fn parse(html: &str, url: &str, bounds: &Bounds) -> Result<Self, PageError> {
        let (document, charge) = read::read(html, bounds)?;
        let root = document.root().id;
        let (seen, trouble, bounds) = (Cell::default(), Cell::default(), bounds.clone());
        let page = Page { document, url: url.into(), bounds, seen, trouble, charge };
        let nodes = page.nodes([root].into());
        Ok(Self { page: Rc::new(page), nodes, previous: None })
    }

    /// Why the work on the page ended before it was done, since the last call. The selections made meanwhile lack
    /// nodes.
    pub fn take_trouble(&self) -> Option<PageError> {
        self.page.trouble.take()
    }

    /// The nodes, if they belong to this tree.
    fn ids_in(&self, tree: &Tree) -> &[NodeId] {
        if std::ptr::eq(&raw const self.page.document.tree, tree) { &self.nodes.ids } else { &[] }
    }

    /// URL of the page.
    pub fn url(&self) -> &str {
        &self.page.url
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.ids.is_empty()
    }

    fn node(&self, id: NodeId) -> NodeRef<'_> {
        NodeRef::new(id, &self.page.document.tree)
    }

    fn refs(&self) -> impl DoubleEndedIterator<Item = NodeRef<'_>> {
        self.nodes.ids.iter().map(|id| self.node(*id))
    }

    /// These nodes, as long as the work goes on.
    fn bounded<'a>(
        &'a self,
        nodes: impl IntoIterator<Item = NodeRef<'a>>,
    ) -> impl Iterator<Item = NodeRef<'a>> {
        nodes.into_iter().take_while(|_| self.page.goes_on())
    }

    /// A selection that was made from this one, each node once.
    fn then<'a>(&self, nodes: impl IntoIterator<Item = NodeRef<'a>>) -> Self {
        let mut seen = HashSet::new();
        let ids = nodes.into_iter().map(|node| node.id).filter(|id| seen.insert(*id)).collect();
        let nodes = self.page.nodes(ids);
        Self { page: self.page.clone(), nodes, previous: Some(Rc::new(self.clone())) }
    }

    /// Those at these places.
    pub fn slice(&self, from: usize, to: usize) -> Self {
        let ids = self.nodes.ids.get(from..to.min(self.len())).unwrap_or_default();
        self.then(ids.iter().map(|id| self.node(*id)))
    }

    /// The one at a place; negative places count from the end.
    pub fn at(&self, place: i64) -> Self {
        let all = count(self.len());
        let place = if place < 0 { all + place } else { place };
        if (0..all).contains(&place) {
            self.slice(place as usize, place as usize + 1)
        } else {
            self.slice(0, 0)
        }
    }

    /// The selection it was made from.
    pub fn end(&self) -> Self {
        self.previous.as_deref().cloned().unwrap_or_else(|| self.slice(0, 0))
    }

    /// The nodes of both.
    pub fn add(&self, target: &Target) -> Self {
        let found: Vec<NodeRef<'_>> = match target {
            Target::OneOf(other) => {
                other.ids_in(&self.page.document.tree).iter().map(|id| self.node(*id)).collect()
            }
            Target::Fits(_) => {
                let root = self.page.document.root();
                self.bounded(root.descendants_it()).filter(|node| target.picks(*node)).collect()
            }
        };
        self.then(self.refs().chain(found))
    }

    /// The descendants that match.
    pub fn find(&self, target: &Target) -> Self {
        // Of nodes within each other, each is looked at once: what was found in one is not new in another.
        let (mut walked, mut found) = (HashSet::new(), Vec::new());
        for node in self.refs() {
            descend(node, |node| {
                let is_new = walked.insert(node.id) && self.page.goes_on();
                if is_new && target.picks(node) {
                    found.push(node);
                }
                is_new
            });
        }
        self.then(found)
    }

    /// The nearest one picked, of each node and those around it.
    pub fn closest(&self, target: &Target) -> Self {
        let chain = |node: NodeRef<'_>| {
            std::iter::successors(Some(node), NodeRef::parent)
                .take_while(|_| self.page.goes_on())
                .find(|node| target.picks(*node))
                .map(|node| node.id)
        };
        self.then(self.refs().filter_map(chain).map(|id| self.node(id)))
    }

    /// Those with something picked within.
    pub fn has(&self, target: &Target) -> Self {
        let holds = |node: &NodeRef<'_>| self.bounded(node.descendants_it()).any(|inner| target.picks(inner));
        self.then(self.refs().filter(holds))
    }

    /// Those that are picked, or those that are not.
    pub fn filter(&self, target: &Target, wanted: bool) -> Self {
        self.then(self.bounded(self.refs()).filter(|node| target.picks(*node) == wanted))
    }

    /// Those for which `keep` says so; it gets the position of each.
    pub fn keep(&self, mut keep: impl FnMut(usize, &Self) -> bool) -> Self {
        let kept = (0..self.len()).filter(|place| keep(*place, &self.slice(*place, place + 1)));
        let kept: Vec<NodeRef<'_>> = kept.map(|place| self.node(self.nodes.ids[place])).collect();
        self.then(kept)
    }

    /// Whether any node is picked.
    pub fn picked(&self, target: &Target) -> bool {
        self.bounded(self.refs()).any(|node| target.picks(node))
    }

    /// Where a way leads from every node, of which only those that `filter` picks stay.
    pub fn walk(&self, walk: Walk, filter: Option<&Target>) -> Self {
        self.walk_until(walk, None, filter)
    }

    /// The same, up to the first node that `until` picks on each way.
    pub fn walk_until(&self, walk: Walk, until: Option<&Target>, filter: Option<&Target>) -> Self {
        let stops = |node: &NodeRef<'_>| until.is_some_and(|until| until.picks(*node));
        let stays = |node: &NodeRef<'_>| filter.is_none_or(|filter| filter.picks(*node));
        self.then(self.bounded(self.refs()).flat_map(|node| {
            let way = self.bounded(steps(node, walk)).take_while(|node| !stops(node));
            way.filter(stays).collect::<Vec<_>>()
        }))
    }

    /// The place of the first node that is also in `other`; -1 if there is none.
    pub fn place_of(&self, other: &Self) -> i64 {
        let first = other.ids_in(&self.page.document.tree).first();
        first.and_then(|first| self.nodes.ids.iter().position(|id| id == first)).map_or(-1, count)
    }

    /// The place of the first node among the elements around it; -1 if there is none.
    pub fn place(&self) -> i64 {
        self.refs().next().map_or(-1, |node| count(steps(node, Walk::PreviousAll).len()))
    }

    /// All text within.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for node in self.refs() {
            // Nodes within each other repeat their text.
            render::text(&node, &mut text, |bytes| self.page.goes_on() && self.page.has_room(bytes));
        }
        text
    }

    /// HTML of what is in the first node.
    pub fn html(&self) -> Option<String> {
        self.refs().next().map(|node| render::inner(&node))
    }

    /// An attribute of the first node.
    pub fn attr(&self, name: &str) -> Option<String> {
        self.refs().next()?.attr(name).map(|value| value.to_string())
    }

    /// Names and values of all attributes of the first node.
    pub fn attrs(&self) -> Vec<(String, String)> {
        let attrs = self.refs().next().map(|node| node.attrs()).unwrap_or_default();
        attrs.into_iter().map(|attr| (attr.name.local.to_string(), attr.value.to_string())).collect()
    }

    /// The name of the first node: that of its tag, or `#text` and its like.
    pub fn name(&self) -> String {
        self.refs().next().map(|node| name_of(&node)).unwrap_or_default()
    }

    /// The number that stands for the kind of the first node.
    pub fn kind(&self) -> Option<u8> {
        let node = self.refs().next()?;
        Some(match name_of(&node).as_str() {
            "#text" => 3,
            "#comment" => 8,
            "#document" => 9,
            _ if node.is_doctype() => 10,
            _ => 1,
        })
    }

    /// One node beside or around the first one, whatever it is.
    pub fn neighbour(&self, neighbour: Neighbour) -> Self {
        let node = self.refs().next().and_then(|node| match neighbour {
            Neighbour::FirstChild => node.first_child(),
            Neighbour::LastChild => node.last_child(),
            Neighbour::Previous => node.prev_sibling(),
            Neighbour::Next => node.next_sibling(),
            Neighbour::Parent => node.parent(),
            Neighbour::Document => Some(self.page.document.root()),
        });
        self.then(node)
    }

    /// Whether the first node of `other` is within the first node.
    pub fn contains(&self, other: &Self) -> bool {
        let (Some(outer), Some(inner)) = (self.nodes.ids.first(), other.nodes.ids.first()) else {
            return false;
        };
        Rc::ptr_eq(&self.page, &other.page)
            && self.node(*inner).ancestors_it(None).any(|node| node.id == *outer)
    }

    /// Whether both begin with the same node.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.page, &other.page) && self.nodes.ids.first() == other.nodes.ids.first()
    }
}

/// Visits the nodes within a node in the order of the page. What is within a node is left out where `visit` says no.
fn descend<'a>(node: NodeRef<'a>, mut visit: impl FnMut(NodeRef<'a>) -> bool) {
    let mut next = node.first_child();
    while let Some(at) = next {
        next = if visit(at) { at.first_child() } else { None };
        let mut above = at;
        while next.is_none() {
            next = above.next_sibling();
            if next.is_none() {
                match above.parent() {
                    Some(parent) if parent.id != node.id => above = parent,
                    _ => return,
                }
            }
        }
    }
}

/// A number of nodes as places are counted.
pub fn count(nodes: usize) -> i64 {
    i64::try_from(nodes).unwrap_or(i64::MAX)
}

/// A node that belongs to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// The first node in it.
    FirstChild,
    /// The last node in it.
    LastChild,
    /// The node before it.
    Previous,
    /// The node behind it.
    Next,
    /// The node around it.
    Parent,
    /// The page.
    Document,
}

fn name_of(node: &NodeRef<'_>) -> String {
    if node.is_text() {
        return "#text".to_owned();
    }
    if node.is_comment() {
        return "#comment".to_owned();
    }
    if node.is_document() {
        return "#document".to_owned();
    }
    node.node_name().map(|name| name.to_string()).unwrap_or_default()
}

/// The nodes on a way, nearest first.
fn steps(node: NodeRef<'_>, walk: Walk) -> Vec<NodeRef<'_>> {
    let is_element = |node: &NodeRef<'_>| node.is_element();
    match walk {
        Walk::Next => node.next_element_sibling().into_iter().collect(),
        Walk::Previous => node.prev_element_sibling().into_iter().collect(),
        Walk::NextAll => {
            std::iter::successors(node.next_sibling(), NodeRef::next_sibling).filter(is_element).collect()
        }
        Walk::PreviousAll => {
            std::iter::successors(node.prev_sibling(), NodeRef::prev_sibling).filter(is_element).collect()
        }
        Walk::Parent => node.parent().filter(is_element).into_iter().collect(),
        Walk::Parents => node.ancestors_it(None).filter(is_element).collect(),
        Walk::Siblings => {
            let all = node.parent().map(|parent| parent.children()).unwrap_or_default();
            all.into_iter().filter(|other| other.is_element() && other.id != node.id).collect()
        }
        Walk::Children => node.children().into_iter().filter(is_element).collect(),
        Walk::Contents => node.children(),
    }
}

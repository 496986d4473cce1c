//! Nodes as text and as HTML, written as Go's package for HTML writes it: quotes are escaped, and void tags are
//! self-closing.
//!
//! Needs no stack, however deep the page is nested.

use dom_query::NodeRef;

/// Tags without an end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param", "source",
    "wbr",
];
/// Tags whose text is not escaped.
const RAW: [&str; 8] = ["iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "xmp"];

/// Adds all text in a node to `out`, as long as `has_room` for its length.
pub fn text(node: &NodeRef<'_>, out: &mut String, has_room: impl Fn(usize) -> bool) {
    let texts = std::iter::once(*node).chain(node.descendants_it()).filter(NodeRef::is_text);
    for node in texts {
        let text = node.text();
        if !has_room(out.len() + text.len()) {
            return;
        }
        out.push_str(&text);
    }
}

/// HTML of everything in a node.
pub fn inner(node: &NodeRef<'_>) -> String {
    let mut out = String::new();
    let mut at = node.first_child();
    let mut open: Vec<NodeRef<'_>> = Vec::new();
    while let Some(node) = at {
        begin(&mut out, &node);
        at = node.first_child();
        if at.is_some() {
            open.push(node);
            continue;
        }
        close(&mut out, &node);
        at = node.next_sibling();
        while at.is_none() {
            let Some(parent) = open.pop() else { break };
            close(&mut out, &parent);
            at = parent.next_sibling();
        }
    }
    out
}

fn begin(out: &mut String, node: &NodeRef<'_>) {
    if node.is_text() {
        let raw =
            node.parent().and_then(|parent| parent.node_name()).is_some_and(|name| RAW.contains(&&*name));
        if raw {
            out.push_str(&node.text());
        } else {
            escape(out, &node.text());
        }
        return;
    }
    if node.is_comment() || node.is_doctype() {
        // The library writes these as k6 does.
        out.push_str(&node.html());
        return;
    }
    let Some(name) = node.node_name() else { return };
    out.push('<');
    out.push_str(&name);
    for attr in node.attrs() {
        out.push(' ');
        out.push_str(&attr.name.local);
        out.push_str("=\"");
        escape(out, &attr.value);
        out.push('"');
    }
    out.push_str(if VOID.contains(&&*name) { "/>" } else { ">" });
}

fn close(out: &mut String, node: &NodeRef<'_>) {
    if let Some(name) = node.node_name().filter(|name| node.is_element() && !VOID.contains(&&**name)) {
        out.push_str("</");
        out.push_str(&name);
        out.push('>');
    }
}

fn escape(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '\'' => out.push_str("&#39;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\r' => out.push_str("&#13;"),
            _ => out.push(letter),
        }
    }
}

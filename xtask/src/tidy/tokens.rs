//! Walks over the tokens of a Rust file, so that comments and strings are never taken for code.
//!
//! Does not parse: rules that need functions use `syn` themselves.

use proc_macro2::{TokenStream, TokenTree};

/// A name, or one character of punctuation, with the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The name as written, the character of punctuation, or the opening bracket of a group.
    pub text: String,
    /// Whether it is a name (identifier or keyword).
    pub is_name: bool,
    /// The line, from 1.
    pub line: usize,
}

/// The tokens of a file in the order of the text, without literals, comments and closing brackets.
/// Empty if the text is not Rust; the compiler says so better than a rule could.
pub fn of(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    if let Ok(stream) = text.parse() {
        collect(stream, &mut tokens);
    }
    tokens
}

fn collect(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(name) => tokens.push(Token { text: name.to_string(), is_name: true, line }),
            TokenTree::Punct(mark) => {
                tokens.push(Token { text: mark.as_char().to_string(), is_name: false, line });
            }
            TokenTree::Group(group) => {
                let open = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => "(",
                    proc_macro2::Delimiter::Brace => "{",
                    proc_macro2::Delimiter::Bracket => "[",
                    proc_macro2::Delimiter::None => "",
                };
                tokens.push(Token { text: open.to_owned(), is_name: false, line });
                collect(group.stream(), tokens);
            }
            TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_hold_no_names() {
        let tokens = of("/// words\nfn name() { // more\n    \"strings {}\"\n}");
        let names: Vec<_> = tokens.iter().filter(|token| token.is_name).collect();
        assert_eq!(names.iter().map(|token| token.text.as_str()).collect::<Vec<_>>(), ["doc", "fn", "name"]);
        assert_eq!(names[2].line, 2);
    }
}

//! Names of functions as people write them: those of Rust and C++ without the signs of the compiler.
//!
//! Pure. Names are foreign: what is behind the first thousand bytes is left out, however long a name becomes.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Most bytes of a readable name.
const READABLE_MAX: usize = 1_024;

/// Most bytes of a name of C++ that is taken apart.
const CPP_MAX: usize = 2_048;

/// A text that takes no more than [`READABLE_MAX`] bytes.
struct Short(String);

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = READABLE_MAX - self.0.len();
        let end = (0..=left.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.0.push_str(&text[..end]);
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The readable name of a function. One that neither Rust nor C++ wrote stays as it is.
pub(super) fn readable(name: &str) -> String {
    let mut short = Short(String::new());
    // A name that is cut is still a name, so the result of writing is not looked at.
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let _ = write!(short, "{rust:#}");
    } else if name.starts_with("_Z")
        && name.len() <= CPP_MAX
        && let Ok(cpp) = Symbol::new(name.as_bytes())
    {
        let options = DemangleOptions::new().no_params().no_return_type();
        let _ = cpp.structured_demangle(&mut short, &options);
    }
    if short.0.is_empty() { name.to_owned() } else { short.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_cpp_are_readable_and_others_stay() {
        for (name, readable_name) in [
            ("_ZN10serde_json3ser9to_string17h0123456789abcdefE", "serde_json::ser::to_string"),
            ("_RNvC4shop6render", "shop::render"),
            ("_ZN5space3fooEibc", "space::foo"),
            ("memcpy", "memcpy"),
            ("_Znonsense", "_Znonsense"),
            ("", ""),
        ] {
            assert_eq!(readable(name), readable_name);
        }
    }

    #[test]
    fn a_name_that_grows_without_end_is_cut() {
        let part = "x".repeat(200);
        let long = format!("_ZN{}17h0123456789abcdefE", format!("200{part}").repeat(9));
        assert_eq!(readable(&long).len(), READABLE_MAX);
    }
}

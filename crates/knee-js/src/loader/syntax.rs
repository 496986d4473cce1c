//! What kind of source a text is, by its syntax.
//!
//! Transforms nothing and reports no mistakes: the compiler does, with their places.

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

use super::typescript;

/// Whether a source is a script and no module: it has neither `import` nor `export`. What cannot be parsed is
/// taken for what its words say.
pub fn is_script(source: &str) -> bool {
    // Most modules need no parser to be known as such.
    let begins = |line: &str| {
        let line = line.trim_start_matches('\u{feff}');
        ["import ", "import{", "export ", "export{"].iter().any(|word| line.starts_with(word))
    };
    if source.lines().any(begins) && !source.contains("module.exports") {
        return false;
    }
    typescript::on_large_stack(source, || {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, source, SourceType::unambiguous()).parse();
        !parsed.program.source_type.is_module()
    })
    .unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_and_a_module_are_distinguished_by_their_syntax() {
        for (source, expected) in [
            ("module.exports = 1;", true),
            ("const text = 'import x from y'; exports.x = text;", true),
            ("// export default\nrequire('x');", true),
            ("#!/usr/bin/env k6\nrequire('x');", true),
            ("import x from 'y'; module.exports = x;", false),
            ("const a = 1;export{a};", false),
            ("require('x'); export default () => 1;", false),
            ("/* module.exports\nexport const x = 1; */ exports.y = 1;", true),
        ] {
            assert_eq!(is_script(source), expected, "{source}");
        }
    }
}

//! What kind of source a text is, by its syntax.
//!
//! Transforms nothing and reports no mistakes: the compiler does, with their places.

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use oxc_syntax::module_record::ExportExportName;

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

/// The names that a module exports itself, with `default`; what it passes on with `export *` is not among them.
pub fn exports(source: &str) -> BTreeSet<String> {
    let names = typescript::on_large_stack(source, || {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, source, SourceType::mjs()).parse();
        let record = &parsed.module_record;
        let entries = record.local_export_entries.iter().chain(&record.indirect_export_entries);
        let name = |name: &ExportExportName<'_>| match name {
            ExportExportName::Name(name) => Some(name.name.to_string()),
            ExportExportName::Default(_) => Some("default".to_owned()),
            ExportExportName::Null => None,
        };
        entries.filter_map(|entry| name(&entry.export_name)).collect()
    });
    names.unwrap_or_default()
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

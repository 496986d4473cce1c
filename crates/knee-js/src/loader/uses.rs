//! What a module uses: built-in objects that a VU does not have unless they are used, and exports of other modules.
//!
//! Comments, texts and the names of properties do not count. Reports no mistakes: the compiler does, with their places.

use std::collections::{BTreeMap, BTreeSet};

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_parser::Parser;
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::SourceType;
use oxc_syntax::module_record::{ExportImportName, ImportImportName, ModuleRecord};

use super::typescript;
use crate::runtime::intrinsic::Needs;

/// What a module uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Built-in objects.
    pub needs: Needs,
    /// Exports of other modules.
    pub imports: Imports,
    /// Those that have a name in the source, by the specifier of their module, as it is written.
    pub named: Named,
}

/// Names by the specifier of their module.
pub type Named = BTreeMap<String, BTreeSet<String>>;

/// Names that are imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// These.
    Some(BTreeSet<String>),
    /// Any.
    All,
}

/// Imported names by the specifier of their module, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imports {
    /// These alone.
    Known(BTreeMap<String, Names>),
    /// Any of any module.
    Unknown,
}

impl Names {
    /// Whether a name is among them.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Some(names) => names.contains(name),
            Self::All => true,
        }
    }
}

impl Default for Imports {
    fn default() -> Self {
        Self::Known(BTreeMap::new())
    }
}

impl Imports {
    /// What is imported of a module.
    pub fn of(&self, module: &str) -> Names {
        match self {
            Self::Unknown => Names::All,
            Self::Known(known) => known.get(module).cloned().unwrap_or(Names::Some(BTreeSet::new())),
        }
    }

    fn add(&mut self, module: &str, name: Option<&str>) {
        let Self::Known(known) = self else { return };
        let names = known.entry(module.to_owned()).or_insert_with(|| Names::Some(BTreeSet::new()));
        match (name, &mut *names) {
            (Some(name), Names::Some(set)) => drop(set.insert(name.to_owned())),
            (None, _) => *names = Names::All,
            (Some(_), Names::All) => {}
        }
    }

    /// Takes over the imports of another module.
    pub fn merge(&mut self, other: &Self) {
        let Self::Known(more) = other else {
            *self = Self::Unknown;
            return;
        };
        for (module, names) in more {
            // Also a module of which nothing is imported by name.
            match names {
                Names::All => self.add(module, None),
                Names::Some(names) => names.iter().for_each(|name| self.add(module, Some(name))),
            }
        }
    }
}

impl Uses {
    /// What a source uses. One that cannot be parsed is taken to use all that its words can mean.
    pub fn of(source: &str, is_typescript: bool) -> Self {
        let kind = if is_typescript { SourceType::ts() } else { SourceType::unambiguous() };
        let found = typescript::on_large_stack(source, || {
            let allocator = Allocator::default();
            let parsed = Parser::new(&allocator, source, kind).parse();
            if parsed.panicked || !parsed.errors.is_empty() {
                return None;
            }
            let analysed = SemanticBuilder::new().build(&parsed.program);
            let record = &parsed.module_record;
            Some(Self { needs: needs(&analysed.semantic), imports: imports(record), named: named(record) })
        });
        found.flatten().unwrap_or_else(|| Self {
            needs: Needs::of(source),
            imports: Imports::Unknown,
            named: Named::new(),
        })
    }
}

/// Built-in objects that code names, or that the syntax or a method makes.
fn needs(semantic: &Semantic<'_>) -> Needs {
    let globals = semantic.scoping().root_unresolved_references().keys();
    let named = globals.fold(Needs::NONE, |needs, name| needs.with(Needs::of_global(name)));
    semantic.nodes().iter().fold(named, |needs, node| {
        needs.with(match node.kind() {
            AstKind::RegExpLiteral(_) => Needs::REGEXP,
            AstKind::IdentifierName(name) => Needs::of_property(&name.name),
            AstKind::StringLiteral(text) => Needs::of_property(&text.value),
            _ => Needs::NONE,
        })
    })
}

fn imports(record: &ModuleRecord<'_>) -> Imports {
    if !record.dynamic_imports.is_empty() {
        return Imports::Unknown;
    }
    let mut imports = Imports::default();
    for entry in &record.import_entries {
        let name = match &entry.import_name {
            ImportImportName::Name(name) => Some(name.name.as_str()),
            ImportImportName::Default(_) => Some("default"),
            ImportImportName::NamespaceObject => None,
        };
        imports.add(&entry.module_request.name, name);
    }
    for entry in record.indirect_export_entries.iter().chain(&record.star_export_entries) {
        let Some(module) = &entry.module_request else { continue };
        let name = match &entry.import_name {
            ExportImportName::Name(name) => Some(name.name.as_str()),
            _ => None,
        };
        imports.add(&module.name, name);
    }
    imports
}

/// The names that stand between the braces of `import` and `export … from`.
fn named(record: &ModuleRecord<'_>) -> Named {
    let mut named = Named::new();
    let mut add = |module: &str, name: &str| {
        named.entry(module.to_owned()).or_default().insert(name.to_owned());
    };
    for entry in &record.import_entries {
        if let ImportImportName::Name(name) = &entry.import_name {
            add(&entry.module_request.name, &name.name);
        }
    }
    for entry in &record.indirect_export_entries {
        if let (Some(module), ExportImportName::Name(name)) = (&entry.module_request, &entry.import_name) {
            add(&module.name, &name.name);
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str, module: &str) -> Option<Vec<String>> {
        match Uses::of(source, false).imports.of(module) {
            Names::Some(names) => Some(names.into_iter().collect()),
            Names::All => None,
        }
    }

    #[test]
    fn what_is_only_spoken_of_is_not_used() {
        for (source, needs) in [
            ("// Function to get a Map\nexport default () => {}", Needs::NONE),
            ("/* globalThis */ export const headers = { Date: 'eval', 'Map': 1 };", Needs::NONE),
            ("import crypto from 'k6/crypto'; export default () => crypto.md5('a', 'hex');", Needs::NONE),
            ("export default (Map) => new Map();", Needs::NONE),
            ("export default () => new Map();", Needs::COLLECTIONS),
            ("export default () => `${new Date()}`;", Needs::DATE),
            ("const { Set: S } = globalThis; export default S;", Needs::ALL),
            ("export default () => Object.groupBy([], (x) => x);", Needs::COLLECTIONS),
            ("export default () => crypto.randomUUID();", Needs::WEB),
            ("exports.x = Function('return this')();", Needs::ALL),
            ("export default () => /x/.test('x');", Needs::REGEXP),
            ("export default (t) => t.match('x');", Needs::REGEXP),
            ("export default (t) => t['search']('x');", Needs::REGEXP),
            ("export default (t) => t.replace('x', 'y').split(',');", Needs::NONE),
            ("export default new Proxy({}, {});", Needs::PROXY),
            ("export default () => console.log(1);", Needs::CONSOLE),
            ("export default (setTimeout) => setTimeout();", Needs::NONE),
            ("export default () => setTimeout(() => {}, 1);", Needs::TIMERS),
            ("export default class extends WeakRef {}", Needs::WEAK),
        ] {
            assert_eq!(Uses::of(source, false).needs, needs, "{source}");
        }
    }

    #[test]
    fn typescript_is_read_as_such() {
        let source = "import http, { type Response } from 'k6/http';\nexport default (): Map<string, Date> | null => null;";
        let uses = Uses::of(source, true);
        assert_eq!(
            uses.imports.of("k6/http"),
            Names::Some(["default", "Response"].map(str::to_owned).into())
        );
        assert!(!uses.needs.has(Needs::REGEXP), "{uses:?}");
    }

    #[test]
    fn a_source_that_cannot_be_parsed_uses_what_its_words_mean() {
        let uses = Uses::of("const = Map;", false);
        assert!(uses.needs.has(Needs::COLLECTIONS) && uses.imports == Imports::Unknown);
    }

    #[test]
    fn imports_are_known_by_name_unless_a_module_is_taken_as_a_whole() {
        let source = "import http, { get as fetch } from 'k6/http'; import { check } from 'k6'; export { sleep } from 'k6';";
        assert_eq!(names(source, "k6/http").unwrap(), ["default", "get"]);
        assert_eq!(names(source, "k6").unwrap(), ["check", "sleep"]);
        assert!(names(source, "k6/data").unwrap().is_empty());
        for whole in [
            "import * as http from 'k6/http';",
            "export * from 'k6/http';",
            "export const x = import('k6/http');",
        ] {
            assert_eq!(names(whole, "k6/http"), None, "{whole}");
        }
    }

    #[test]
    fn imports_of_several_modules_add_up() {
        let mut all = Uses::of("import { get } from 'k6/http';", false).imports;
        all.merge(&Uses::of("import { post } from 'k6/http'; import * as k6 from 'k6';", false).imports);
        assert_eq!(all.of("k6/http"), Names::Some(["get", "post"].map(str::to_owned).into()));
        assert_eq!(all.of("k6"), Names::All);
        all.merge(&Imports::Unknown);
        assert_eq!(all.of("k6/data"), Names::All);
    }
}

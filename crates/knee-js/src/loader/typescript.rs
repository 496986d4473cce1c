//! Turns TypeScript into JavaScript: removes types and imports of types, and turns enums, namespaces and parameter
//! properties into code.
//!
//! Checks no types; neither does k6. JavaScript is not transformed: it is compiled as written.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use super::position::{Map, Place};
use super::specifier;

/// Stack of the thread that transforms: source that is nested deeply needs a lot, and only what is touched
/// costs memory.
const STACK_BYTES: usize = 256 << 20;
/// Most brackets that can be open at one place. The parser needs a few KiB of stack for each.
const NESTING_MAX: usize = 10_000;

/// A mistake in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The parser's message.
    pub message: String,
    /// Where.
    pub place: Place,
}

/// Code that can be compiled.
#[derive(Debug)]
pub struct Transformed {
    /// JavaScript.
    pub code: String,
    /// Source positions of its pieces.
    pub map: Map,
}

/// Whether the module of this name is TypeScript.
pub fn is_typescript(name: &str) -> bool {
    matches!(specifier::ending_of(name), Some("ts" | "mts" | "cts"))
}

/// Transforms `source`, on a thread of its own: the caller's stack might be too small.
pub fn transform(source: &str) -> Result<Transformed, Mistake> {
    let unable = |message: &str| Mistake { message: message.to_owned(), place: (1, 1) };
    if let Some(place) = too_deep(source) {
        return Err(Mistake { message: "the source is nested too deeply".to_owned(), place });
    }
    on_large_stack(source, || transform_here(source))
        .unwrap_or_else(|| Err(unable("the TypeScript cannot be transformed")))
}

/// What `work` makes of a source, on a stack that is large enough for one that is nested deeply; `None` if that
/// is not to be had or the source is nested too deeply.
pub fn on_large_stack<T: Send>(source: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    if too_deep(source).is_some() {
        return None;
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

fn transform_here(source: &str) -> Result<Transformed, Mistake> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::ts()).parse();
    refuse(source, &parsed.errors)?;
    let mut program = parsed.program;
    // The transformer adds scopes and references of its own.
    let analysed =
        SemanticBuilder::new().with_check_syntax_error(true).with_excess_capacity(2.0).build(&program);
    refuse(source, &analysed.errors)?;
    let scoping = analysed.semantic.into_scoping();
    let path = Path::new("module.ts");
    let transformed = Transformer::new(&allocator, path, &TransformOptions::default())
        .build_with_scoping(scoping, &mut program);
    refuse(source, &transformed.errors)?;
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some(path.to_owned()),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).build(&program);
    let mut pieces = Vec::new();
    if let Some(map) = &printed.map {
        pieces.extend(map.get_tokens().map(|token| {
            let code = (token.get_dst_line() + 1, token.get_dst_col() + 1);
            (code, (token.get_src_line() + 1, token.get_src_col() + 1))
        }));
    }
    Ok(Transformed { map: Map::new(pieces), code: printed.code })
}

/// The first mistake, if there is one.
fn refuse(source: &str, errors: &[oxc_diagnostics::OxcDiagnostic]) -> Result<(), Mistake> {
    let Some(error) = errors.first() else { return Ok(()) };
    let label = error.labels.iter().flatten().next();
    let offset = label.map_or(0, oxc_diagnostics::LabeledSpan::offset);
    Err(Mistake { message: error.message.to_string(), place: place_of(source, offset) })
}

/// Line and column of a byte.
fn place_of(source: &str, offset: usize) -> Place {
    let before = source.get(..offset).unwrap_or(source);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
    (line as u32, column as u32)
}

/// The position at which more brackets are open than the parser can handle safely. Brackets in strings count too.
fn too_deep(source: &str) -> Option<Place> {
    let mut open = 0_usize;
    let at = source.bytes().position(|byte| {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > NESTING_MAX
    })?;
    Some(place_of(source, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        match transform(source) {
            Ok(done) => done.code,
            Err(mistake) => panic!("{mistake:?} in {source}"),
        }
    }

    #[test]
    fn types_go_and_what_runs_stays() {
        let table = [
            ("const a: number = 1 as unknown as number;", "const a = 1;"),
            ("const b = { x: 1 } satisfies { x: number };", "const b = { x: 1 };"),
            ("function f<T>(x: T, y?: string): T { return x!; }", "function f(x, y) {\n\treturn x;\n}"),
            ("interface I { a: number }\ntype T = I;\ndeclare const d: T;\nexport {};", "export {};"),
            ("abstract class A { abstract m(): void; }", "class A {}"),
        ];
        for (source, expected) in table {
            assert_eq!(code(source).trim(), expected, "{source}");
        }
    }

    #[test]
    fn imports_that_only_bring_types_disappear() {
        let source = "import { Options } from 'k6/options';\nimport http, { Response } from 'k6/http';\n\
                      import type { T } from './t.ts';\nimport { type U, v } from './u.ts';\n\
                      export const options: Options = {};\nexport default () => http.get(v) as Response;";
        let code = code(source);
        assert!(!code.contains("k6/options"), "{code}");
        assert!(!code.contains("./t.ts"), "{code}");
        assert!(!code.contains("Response"), "{code}");
        assert!(
            code.contains("import http from \"k6/http\"") && code.contains("import { v } from \"./u.ts\""),
            "{code}"
        );
    }

    #[test]
    fn a_mistake_has_its_place_in_the_source() {
        let mistake = transform("let ok: number = 1;\nlet bad: number = ;\n").unwrap_err();
        assert_eq!(mistake.place, (2, 19), "{mistake:?}");
        let twice = transform("const a: number = 1;\nconst a: number = 2;\n").unwrap_err();
        assert_eq!(twice.place.0, 1, "{twice:?}");
    }

    #[test]
    fn code_knows_where_it_came_from() {
        let source =
            "interface Long {\n  a: number;\n}\n\nexport function f(x: Long): number {\n  return x.a;\n}\n";
        let done = transform(source).unwrap();
        let line = done.code.lines().position(|line| line.contains("return")).unwrap();
        let column = done.code.lines().nth(line).unwrap().find("x.a").unwrap();
        assert_eq!(done.map.source((line as u32 + 1, column as u32 + 1)), Some((6, 10)));
    }

    #[test]
    fn source_without_end_is_refused_and_does_not_end_the_program() {
        let deep = format!("const a = {}1{};", "(".repeat(1_000_000), ")".repeat(1_000_000));
        assert_eq!(transform(&deep).unwrap_err().message, "the source is nested too deeply");
        let allowed = format!("const a = {}1{};", "[".repeat(9_000), "]".repeat(9_000));
        assert!(transform(&allowed).is_ok());
        let chain = format!("const a = 1{};", "+1".repeat(20_000));
        assert!(transform(&chain).is_ok());
    }
}

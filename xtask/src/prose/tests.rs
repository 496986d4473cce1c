//! What is prose in Markdown, in Rust and in a `study.toml`, and what is not.

use super::*;

fn texts(fragments: &[Fragment]) -> Vec<&str> {
    fragments.iter().map(|fragment| fragment.text.as_str()).collect()
}

#[test]
fn markdown_is_read_by_blocks_and_without_code_blocks() {
    let text = "# Title\n\nOne *line*\nand `code`.\n\n```sh\nleft out\n```\n\n| a cell | b |\n|---|---|\n| c | d |\n";
    let fragments = of_markdown(text);
    assert_eq!(texts(&fragments), ["Title", "One line and `code`.", "a cell", "b", "c", "d"]);
    assert_eq!(fragments[1].line_at(0), 3);
    assert_eq!(fragments[1].line_at(10), 4);
    assert_eq!(fragments[4].line_at(0), 12);
}

#[test]
fn a_cell_knows_the_first_cell_of_its_row() {
    let fragments = of_markdown("| key | meaning |\n|---|---|\n| `a` | first |\n| `b` | second |\n\nText.\n");
    let rows: Vec<(Option<&str>, &str)> =
        fragments.iter().map(|fragment| (fragment.row.as_deref(), fragment.text.as_str())).collect();
    let of = |row: &'static str, text: &'static str| (Some(row), text);
    assert_eq!(
        rows[2..],
        [(None, "`a`"), of("`a`", "first"), (None, "`b`"), of("`b`", "second"), (None, "Text.")]
    );
}

#[test]
fn code_spans_are_blanked_and_offsets_stay() {
    let fragment = &of_markdown("a `b c` d")[0];
    assert_eq!(fragment.without_code(), "a       d");
}

#[test]
fn documentation_and_strings_of_rust_are_found_with_their_lines() {
    let text = "//! First line\n//! goes on.\n\n/// A field.\nfn f() {\n    g(\"three short words\", \"two words\");\n}\n";
    let rust = of_rust(text);
    assert_eq!(texts(&rust.docs), ["First line goes on.", "A field."]);
    assert_eq!(rust.docs[0].line_at(12), 2);
    assert_eq!(texts(&rust.strings), ["three short words"]);
    assert_eq!(rust.strings[0].line_at(0), 6);
}

#[test]
fn strings_of_tests_are_left_out_and_what_follows_is_not() {
    let text = "#[cfg(test)]\nmod tests {\n    const A: &str = \"this is left out\";\n}\nconst B: &str = \"this is read here\";\n";
    assert_eq!(texts(&of_rust(text).strings), ["this is read here"]);
}

#[test]
fn strings_that_users_never_read_are_kept_apart() {
    let text = r#"
        #[expect(clippy::x, reason = "one lint is wrong here")]
        fn f() {
            a.expect("the list cannot be empty");
            debug_assert!(b, "one step after another");
            run("(read) => {\n  const all = read();\n  return all;\n}");
            sql("SELECT this FROM that one");
            print(a.expect("a proof of it").g("this one is printed"));
        }
    "#;
    let rust = of_rust(text);
    assert_eq!(texts(&rust.strings), ["this one is printed"]);
    assert_eq!(
        texts(&rust.internal)[..3],
        ["one lint is wrong here", "the list cannot be empty", "one step after another"]
    );
}

#[test]
fn help_is_the_documentation_of_arguments_and_variants() {
    let text = "//! The file.\n\n/// A group.\n#[command(next_help_heading = \"Load\")]\nstruct A {\n    /// An \
                argument.\n    #[arg(long)]\n    pub a: bool,\n    /// A field.\n    b: bool,\n    /// Flags.\n    #[command(flatten)]\n    c: C,\n}\n/// An \
                enum.\n#[derive(ValueEnum)]\nenum B {\n    /// A variant.\n    C,\n}\nenum D {\n    /// An error.\n    E,\n}\n/// A function.\nfn f() {}\n";
    assert_eq!(texts(&of_rust(text).help), ["An argument.", "A variant."]);
}

#[test]
fn a_paragraph_in_a_string_is_one_text() {
    let text = "const A: &str = \"Examples:\n  knee one of these\n\nThe first line\ngoes on.\n\";";
    let strings = of_rust(text).strings;
    assert_eq!(texts(&strings), ["Examples:", "knee one of these", "The first line goes on."]);
    assert_eq!((strings[2].line_at(0), strings[2].line_at(16)), (4, 5));
}

#[test]
fn modules_of_tests_in_their_own_files_are_named() {
    let text = "#[cfg(test)]\nmod simulated;\nmod other;\n#[cfg(test)]\npub(crate) mod more;\n";
    assert_eq!(of_rust(text).test_modules, ["simulated", "more"]);
}

#[test]
fn comments_are_found_between_tokens_and_not_in_strings() {
    let text = "// One line\n// goes on.\nfn f() {\n    g(\"http://host/ is // no comment\"); // At the end.\n    \
                h(\"two\n// lines\");\n}\n#[cfg(test)]\nmod tests {\n    // In a test.\n}\n";
    let rust = of_rust(text);
    assert_eq!(texts(&rust.comments), ["One line goes on.", "At the end.", "In a test."]);
    assert_eq!(rust.comments.iter().map(|comment| comment.line_at(0)).collect::<Vec<_>>(), [1, 4, 10]);
}

#[test]
fn names_of_three_words_are_read_as_sentences() {
    let rust = of_rust("fn two_words() {}\nmod tests {\n    #[test]\n    fn this_is_one() {}\n}\n");
    assert_eq!(texts(&rust.names), ["this is one"]);
    assert_eq!(rust.names[0].line_at(0), 4);
}

#[test]
fn texts_and_comments_of_a_study_are_read_and_its_values_are_not() {
    let text =
        "# One line\n# goes on.\ntitle = \"A title\"\n[variants.b]\ntext = \"a text\"\nextends = \"x\"\n";
    assert_eq!(texts(&of_study(text)), ["A title", "a text", "One line goes on."]);
}

#[test]
fn texts_in_attributes_are_read() {
    let text = "#[error(\"cannot read the file\")]\nstruct E;\n";
    assert_eq!(texts(&of_rust(text).strings), ["cannot read the file"]);
}

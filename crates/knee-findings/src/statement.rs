//! What a SQL statement asks for, as far as rules need it: tables, compared columns, order.
//!
//! Reads tokens, not grammar: it understands the statements that services send, and finds less in others. It never finds
//! fault with a text, because texts can be cut off. Does not know the database.

use std::collections::BTreeMap;

mod token;
mod verb;

use token::{Token, is_sign, tokens, word};
use verb::Part;

/// What a statement asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own about the text")]
pub(crate) struct Statement {
    /// What it does, in small letters: `select`, `update`. Comments, parentheses and common table expressions before
    /// it do not matter; `with` if the text was cut off within these.
    pub verb: String,
    /// Its common table expressions, in their order.
    pub parts: Vec<Part>,
    /// Whether it is a `COPY` into a table.
    pub copies_in: bool,
    /// Tables in the order in which they are named, after the one that it changes; with a schema if the text has one.
    pub tables: Vec<String>,
    /// Columns compared with a value for equality.
    pub equals: Vec<Column>,
    /// Columns compared with a value for order.
    pub ranges: Vec<Column>,
    /// Columns compared with a pattern: `LIKE`, `ILIKE`, regular expressions.
    pub patterns: Vec<Column>,
    /// The outermost `ORDER BY`; empty if it has an expression.
    pub order: Vec<Ordered>,
    /// Whether it limits its rows.
    pub limit: bool,
    /// Whether it skips rows.
    pub offset: bool,
    /// Whether it counts rows without grouping them.
    pub counts: bool,
    /// Whether its outermost condition has `OR` outside of parentheses: an index of compared columns then need not help.
    pub either: bool,
    /// Whether some condition has `OR` in parentheses: its columns are left out here.
    pub alternatives: bool,
}

/// A column as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Column {
    /// The table it belongs to, if the text says so; aliases are resolved.
    pub table: Option<String>,
    /// Its name.
    pub name: String,
}

/// A column and its direction in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ordered {
    pub column: Column,
    pub descending: bool,
    pub nulls_first: bool,
}

impl Statement {
    /// Whether it adds, changes or deletes rows, also in a common table expression.
    pub(crate) fn changes_rows(&self) -> bool {
        self.copies_in || self.verbs().any(verb::changes)
    }

    /// Whether it adds rows, also in a common table expression.
    pub(crate) fn adds_rows(&self) -> bool {
        self.copies_in || self.verbs().any(verb::adds)
    }

    /// Whether it returns rows and changes none.
    pub(crate) fn is_read(&self) -> bool {
        self.verb == "select" && !self.changes_rows()
    }

    /// The tables that are no common table expressions.
    pub(crate) fn stored_tables(&self) -> impl Iterator<Item = &String> {
        self.tables.iter().filter(move |table| !self.parts.iter().any(|part| part.name == **table))
    }

    /// The verbs of its common table expressions, and its own.
    fn verbs(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.verb.as_str()).chain([self.verb.as_str()])
    }
}

impl Ordered {
    /// As an index names it: `created_at DESC NULLS LAST`.
    pub(crate) fn in_index(&self) -> String {
        let direction = if self.descending { " DESC" } else { "" };
        let nulls = match (self.descending, self.nulls_first) {
            (true, false) => " NULLS LAST",
            (false, true) => " NULLS FIRST",
            _ => "",
        };
        format!("{}{direction}{nulls}", self.column.name)
    }

    /// Whether an index in the order of `other` can be read, forwards or `backwards`, in this order.
    pub(crate) fn is_served_by(&self, other: &Self, backwards: bool) -> bool {
        self.column.name == other.column.name
            && (self.descending ^ backwards) == other.descending
            && (self.nulls_first ^ backwards) == other.nulls_first
    }
}

/// An index by its `CREATE INDEX` statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexShape {
    /// The table, as the statement names it.
    pub table: String,
    /// Its columns; ends before the first expression, or behind the first operator class.
    pub columns: Vec<Ordered>,
    /// Its method in small letters: `btree`, `gin`.
    pub method: String,
    /// Whether it holds only some rows.
    pub partial: bool,
}

/// Words that end a name of a table, so that they are no alias.
const RESERVED: &[&str] = &[
    "where",
    "on",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "natural",
    "set",
    "order",
    "group",
    "having",
    "limit",
    "offset",
    "fetch",
    "for",
    "union",
    "except",
    "intersect",
    "returning",
    "values",
    "using",
    "select",
    "default",
    "as",
    "window",
    "tablesample",
    "with",
    "and",
    "or",
];

/// Reads a statement.
pub(crate) fn read(text: &str) -> Statement {
    let tokens = tokens(text);
    let verb::Main { verb, place, parts } = verb::main(&tokens);
    let copies_in = verb == "copy" && verb::copies_in(&tokens, place);
    let mut statement = Statement { verb, parts, copies_in, ..Statement::default() };
    let aliases = tables(&tokens, &mut statement);
    if let Some(changed) = changed(&tokens, place, &statement) {
        statement.tables.retain(|table| *table != changed);
        statement.tables.insert(0, changed);
    }
    conditions(&tokens, &aliases, &mut statement);
    statement.order = order(&tokens, &aliases);
    let has = |name: &str| (0..tokens.len()).any(|place| word(&tokens, place) == Some(name));
    statement.limit = has("limit") || has("fetch");
    statement.offset = has("offset");
    let counted = (0..tokens.len())
        .any(|place| word(&tokens, place) == Some("count") && is_sign(&tokens, place + 1, "("));
    statement.counts = counted && !has("group") && !has("over");
    statement
}

/// Reads a `CREATE INDEX` statement; `None` if it is none.
pub(crate) fn read_index(text: &str) -> Option<IndexShape> {
    let tokens = tokens(text);
    let find = |name: &str| (0..tokens.len()).find(|place| word(&tokens, *place) == Some(name));
    let mut place = find("on")? + 1;
    if word(&tokens, place) == Some("only") {
        place += 1;
    }
    let (table, mut place) = name(&tokens, place)?;
    let mut method = "btree".to_owned();
    if word(&tokens, place) == Some("using") {
        word(&tokens, place + 1)?.clone_into(&mut method);
        place += 2;
    }
    if !is_sign(&tokens, place, "(") {
        return None;
    }
    let (columns, _) = ordered_list(&tokens, place + 1, &BTreeMap::new());
    Some(IndexShape { table, columns, method, partial: find("where").is_some() })
}

/// The name at a place, with dots between its parts, and the place behind it.
fn name(tokens: &[Token], place: usize) -> Option<(String, usize)> {
    let part = |place: usize| match tokens.get(place) {
        Some(Token::Word { text, quoted }) if *quoted || !RESERVED.contains(&text.as_str()) => Some(text),
        _ => None,
    };
    let mut name = part(place)?.clone();
    let mut place = place + 1;
    while is_sign(tokens, place, ".") {
        let Some(next) = part(place + 1) else { break };
        name.push('.');
        name.push_str(next);
        place += 2;
    }
    Some((name, place))
}

/// The table that a statement with this verb changes. Common table expressions name others before it.
fn changed(tokens: &[Token], place: usize, statement: &Statement) -> Option<String> {
    if !statement.copies_in && !verb::changes(&statement.verb) {
        return None;
    }
    // `INSERT OR IGNORE INTO` is SQLite's.
    let is_between = |place: &usize| {
        matches!(word(tokens, *place), Some("into" | "from" | "only" | "or" | "ignore" | "replace"))
    };
    let place = (place + 1..tokens.len()).find(|place| !is_between(place))?;
    name(tokens, place).map(|(table, _)| table)
}

/// Finds the tables; returns names of tables by alias.
fn tables(tokens: &[Token], statement: &mut Statement) -> BTreeMap<String, String> {
    let mut aliases = BTreeMap::new();
    let mut expected = false;
    let mut place = 0;
    while place < tokens.len() {
        let starts = matches!(word(tokens, place), Some("from" | "join" | "into" | "update"));
        let continues = expected && is_sign(tokens, place, ",");
        expected = false;
        if !starts && !continues {
            place += 1;
            continue;
        }
        place += 1;
        while matches!(word(tokens, place), Some("only" | "lateral")) {
            place += 1;
        }
        let Some((table, behind)) = name(tokens, place) else { continue };
        // A function in the place of a table, or `FOR UPDATE SKIP LOCKED`.
        if is_sign(tokens, behind, "(") && word(tokens, place - 1) != Some("into")
            || matches!(table.as_str(), "skip" | "nowait" | "of")
            || statement.verb == "copy" && matches!(table.as_str(), "stdin" | "program")
        {
            place = behind;
            continue;
        }
        place = behind + usize::from(word(tokens, behind) == Some("as"));
        if let Some((alias, behind)) = name(tokens, place).filter(|(alias, _)| !alias.contains('.')) {
            aliases.insert(alias, table.clone());
            place = behind;
        }
        let bare = table.rsplit('.').next().unwrap_or(&table).to_owned();
        aliases.insert(bare, table.clone());
        if !statement.tables.contains(&table) {
            statement.tables.push(table);
        }
        expected = true;
    }
    aliases
}

/// The column whose name ends before `end`, and the place where it begins.
fn column_before(tokens: &[Token], end: usize, aliases: &BTreeMap<String, String>) -> Option<Column> {
    let mut start = end.checked_sub(1)?;
    let part = |place: usize| match tokens.get(place) {
        Some(Token::Word { text, quoted }) if *quoted || !RESERVED.contains(&text.as_str()) => {
            Some(text.clone())
        }
        _ => None,
    };
    let name = part(start)?;
    let mut qualifier = None;
    if start >= 2 && is_sign(tokens, start - 1, ".") {
        qualifier = part(start - 2);
        start -= 2;
    }
    // The type of a cast is no column.
    let cast = start > 0 && is_sign(tokens, start - 1, "::");
    let table = qualifier.map(|alias| aliases.get(&alias).cloned().unwrap_or(alias));
    (!cast).then_some(Column { table, name })
}

/// Which tokens stand in parentheses beside an `OR`: what is compared there need not hold. Clauses of a statement in
/// parentheses count apart from each other.
fn alternatives(tokens: &[Token]) -> Vec<bool> {
    let mut are = vec![false; tokens.len()];
    // Of each open parenthesis, where its present clause begins, and whether an `OR` stands directly in it.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for place in 0..tokens.len() {
        if is_sign(tokens, place, "(") {
            open.push((place, false));
            continue;
        }
        let ends = is_sign(tokens, place, ")");
        let begins = matches!(
            word(tokens, place),
            Some("select" | "from" | "where" | "on" | "join" | "group" | "having" | "order")
        );
        if (ends || begins)
            && let Some((from, true)) = open.last().copied()
        {
            are[from..place].fill(true);
        }
        if ends {
            open.pop();
        } else if let Some(last) = open.last_mut() {
            if begins {
                *last = (place, false);
            } else if word(tokens, place) == Some("or") {
                last.1 = true;
            }
        }
    }
    // A text that was cut off.
    for (from, _) in open.into_iter().filter(|(_, has_or)| *has_or) {
        are[from..].fill(true);
    }
    are
}

/// Finds the columns that conditions compare with values, as far as all of these comparisons must hold.
fn conditions(tokens: &[Token], aliases: &BTreeMap<String, String>, statement: &mut Statement) {
    // For each open parenthesis, where the condition around it began; and where the present one did.
    let mut around: Vec<Option<usize>> = Vec::new();
    let mut condition: Option<usize> = None;
    for (place, is_alternative) in alternatives(tokens).into_iter().enumerate() {
        if is_sign(tokens, place, "(") {
            around.push(condition);
        } else if is_sign(tokens, place, ")") {
            condition = around.pop().unwrap_or(condition);
        }
        match word(tokens, place) {
            Some("where" | "on") => condition = Some(around.len()),
            Some("set" | "group" | "order" | "limit" | "returning" | "select" | "values" | "from") => {
                condition = None;
            }
            Some("or") if condition == Some(0) && around.is_empty() => statement.either = true,
            _ => {}
        }
        let inside = condition.is_some() && !is_alternative;
        statement.alternatives |= condition.is_some() && is_alternative;
        match word(tokens, place) {
            Some(comparison @ ("in" | "between")) if inside => {
                let before = place - usize::from(word(tokens, place.saturating_sub(1)) == Some("not"));
                let list = if comparison == "in" { &mut statement.equals } else { &mut statement.ranges };
                add(list, column_before(tokens, before, aliases).filter(|_| before == place));
            }
            Some("like" | "ilike") if inside => {
                add(&mut statement.patterns, column_before(tokens, place, aliases));
            }
            _ => {}
        }
        let Some(Token::Sign(sign)) = tokens.get(place).filter(|_| inside) else { continue };
        let with_value = matches!(tokens.get(place + 1), Some(Token::Value))
            || matches!(
                word(tokens, place + 1),
                Some("any" | "now" | "current_timestamp" | "true" | "false")
            )
            || is_sign(tokens, place + 1, "(");
        match sign.as_str() {
            "=" if with_value => add(&mut statement.equals, column_before(tokens, place, aliases)),
            "<" | ">" | "<=" | ">=" if with_value => {
                add(&mut statement.ranges, column_before(tokens, place, aliases));
            }
            "~" | "~~" => add(&mut statement.patterns, column_before(tokens, place, aliases)),
            _ => {}
        }
    }
}

fn add(list: &mut Vec<Column>, column: Option<Column>) {
    list.extend(column.filter(|column| !list.contains(column)));
}

/// The outermost `ORDER BY`.
fn order(tokens: &[Token], aliases: &BTreeMap<String, String>) -> Vec<Ordered> {
    let mut depth = 0_i64;
    let mut found = None;
    for place in 0..tokens.len() {
        depth += i64::from(is_sign(tokens, place, "(")) - i64::from(is_sign(tokens, place, ")"));
        let here = word(tokens, place) == Some("order") && word(tokens, place + 1) == Some("by");
        if depth == 0 && here {
            found = Some(place + 2);
        }
    }
    let Some(place) = found else { return Vec::new() };
    let (order, is_whole) = ordered_list(tokens, place, aliases);
    if is_whole { order } else { Vec::new() }
}

/// Columns with directions, separated by commas; whether the list ends without an expression.
fn ordered_list(
    tokens: &[Token],
    mut place: usize,
    aliases: &BTreeMap<String, String>,
) -> (Vec<Ordered>, bool) {
    let mut list = Vec::new();
    loop {
        let Some((_, behind)) = name(tokens, place) else { return (list, false) };
        if is_sign(tokens, behind, "(") {
            return (list, false);
        }
        let Some(column) = column_before(tokens, behind, aliases) else { return (list, false) };
        place = behind;
        let descending = word(tokens, place) == Some("desc");
        if matches!(word(tokens, place), Some("asc" | "desc")) {
            place += 1;
        }
        let mut nulls_first = descending;
        if word(tokens, place) == Some("nulls") {
            nulls_first = word(tokens, place + 1) == Some("first");
            place += 2;
        }
        list.push(Ordered { column, descending, nulls_first });
        if !is_sign(tokens, place, ",") {
            let ends = matches!(word(tokens, place), Some("limit" | "offset" | "for" | "fetch"))
                || is_sign(tokens, place, ")")
                || is_sign(tokens, place, ";")
                || place >= tokens.len();
            return (list, ends);
        }
        place += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(columns: &[Column]) -> Vec<String> {
        let name = |column: &Column| match &column.table {
            Some(table) => format!("{table}.{}", column.name),
            None => column.name.clone(),
        };
        columns.iter().map(name).collect()
    }

    #[test]
    fn a_list_of_a_service_is_read_with_its_tables_conditions_and_order() {
        let text = "SELECT t.id, t.name FROM public.tasks AS t JOIN organizations o ON o.id = t.organization_id \
                    WHERE t.organization_id = $1 AND t.enabled = true AND t.inserted_at >= $2::timestamp \
                    ORDER BY t.last_execution_at DESC NULLS LAST, t.inserted_at DESC LIMIT $3 OFFSET $4";
        let statement = read(text);
        assert_eq!(statement.tables, ["public.tasks", "organizations"]);
        assert_eq!(names(&statement.equals), ["public.tasks.organization_id", "public.tasks.enabled"]);
        assert_eq!(names(&statement.ranges), ["public.tasks.inserted_at"]);
        let order: Vec<_> = statement.order.iter().map(Ordered::in_index).collect();
        assert_eq!(order, ["last_execution_at DESC NULLS LAST", "inserted_at DESC"]);
        assert!(statement.limit && statement.offset && !statement.counts && !statement.either);
    }

    #[test]
    fn what_an_update_sets_is_no_condition() {
        let statement =
            read(r#"UPDATE "Accounts" SET balance = balance - $1, touched = now() WHERE "Id" = $2"#);
        assert_eq!((statement.verb.as_str(), statement.tables.len()), ("update", 1));
        assert_eq!(
            (statement.tables[0].as_str(), names(&statement.equals)),
            ("Accounts", vec!["Id".to_owned()])
        );
    }

    #[test]
    fn a_claim_of_a_queue_has_one_table_and_no_alias_from_its_lock() {
        let statement = read(
            "SELECT id FROM executions WHERE status = 'pending' AND scheduled_for <= $1 \
             ORDER BY scheduled_for LIMIT 1 FOR UPDATE SKIP LOCKED",
        );
        assert_eq!(statement.tables, ["executions"]);
        assert_eq!(
            (names(&statement.equals), names(&statement.ranges)),
            (vec!["status".to_owned()], vec!["scheduled_for".to_owned()])
        );
        assert_eq!(statement.order.len(), 1);
    }

    #[test]
    fn functions_casts_and_expressions_are_no_columns() {
        let statement =
            read("SELECT count(*) FROM users WHERE lower(email) = $1 AND id::text = $2 ORDER BY a + b");
        assert_eq!((names(&statement.equals), statement.order.len()), (Vec::<String>::new(), 0));
        assert!(statement.counts);
        assert!(!read("SELECT owner, count(*) FROM posts GROUP BY owner").counts);
        assert_eq!(names(&read("SELECT 1 FROM a WHERE b IN ($1, $2) AND c NOT IN ($3)").equals), ["b"]);
    }

    #[test]
    fn an_index_is_read_with_its_directions_up_to_the_first_expression() {
        let index = read_index(
            "CREATE UNIQUE INDEX i ON public.tasks USING btree (organization_id, last DESC NULLS LAST, lower(x)) \
             WHERE (enabled = true)",
        )
        .unwrap();
        let columns: Vec<_> = index.columns.iter().map(Ordered::in_index).collect();
        assert_eq!((index.table.as_str(), index.partial), ("public.tasks", true));
        assert_eq!(columns, ["organization_id", "last DESC NULLS LAST"]);
        assert_eq!(read_index("SELECT 1"), None);
    }

    #[test]
    fn an_or_in_parentheses_is_one_of_several_conditions_and_hides_its_own_columns_alone() {
        let statement = read("UPDATE t SET seen = $2 WHERE id = $1 AND (seen IS NULL OR seen < $2)");
        assert_eq!(names(&statement.equals), ["id"]);
        assert!(statement.ranges.is_empty() && !statement.either);
        let statement = read("SELECT 1 FROM t WHERE id IN (SELECT t FROM u WHERE name = $1) OR owner = $2");
        assert!(statement.either);
        let text = "SELECT 1 FROM t WHERE owner = $1 AND id IN (SELECT t FROM u WHERE a = $2 OR b = $3)";
        let statement = read(text);
        assert_eq!(names(&statement.equals), ["owner", "id"]);
        assert!(!statement.either && statement.alternatives);
        let text = "SELECT * FROM (SELECT CASE WHEN x OR y THEN 1 END FROM t WHERE owner = $1) s";
        assert_eq!(names(&read(text).equals), ["owner"]);
        let cut = read("UPDATE t SET seen = $2 WHERE id = $1 AND (seen IS NULL OR seen < $2");
        assert_eq!((names(&cut.equals), cut.ranges.len()), (vec!["id".to_owned()], 0));
        let statement = read("SELECT 1 FROM t WHERE id IN (SELECT t FROM u) AND owner = $1");
        assert_eq!(names(&statement.equals), ["id", "owner"]);
    }

    #[test]
    fn an_index_serves_an_order_forwards_or_backwards_but_not_with_nulls_at_the_other_end() {
        let of = |text: &str| read(&format!("SELECT 1 FROM t ORDER BY {text}")).order.remove(0);
        assert!(of("a DESC").is_served_by(&of("a"), true) && of("a").is_served_by(&of("a"), false));
        assert!(!of("a DESC NULLS LAST").is_served_by(&of("a"), true));
        assert!(of("a DESC NULLS LAST").is_served_by(&of("a DESC NULLS LAST"), false));
    }

    #[test]
    fn a_statement_is_what_it_does_whatever_stands_before_its_verb() {
        for (text, verb) in [
            ("/* route='/a' */ SELECT 1", "select"),
            ("-- of the ORM\n  update notes SET title = $1", "update"),
            ("((SELECT id FROM a) UNION (SELECT id FROM b)) ORDER BY id", "select"),
            ("WITH a AS (SELECT 1), b (x) AS NOT MATERIALIZED (SELECT 2) SELECT * FROM a, b", "select"),
            ("WITH RECURSIVE t AS (SELECT 1) SEARCH DEPTH FIRST BY id, up SET o DELETE FROM c", "delete"),
            ("With update AS (SELECT 1) Insert INTO notes SELECT * FROM update", "insert"),
            ("WITH a AS (SELECT 1) (SELECT * FROM a)", "select"),
            ("/* a /* b */ c */ MERGE INTO notes USING drafts ON id = draft", "merge"),
            ("/* a /* b */ SELECT 1", "select"),
            ("EXPLAIN (ANALYZE) SELECT id FROM notes", "explain"),
            ("COPY notes (id) FROM STDIN", "copy"),
            ("WITH a AS (SELECT id FROM notes WHERE", "with"),
            ("", ""),
        ] {
            assert_eq!(read(text).verb, verb, "{text}");
        }
    }

    #[test]
    fn a_change_in_a_common_table_expression_is_a_change_and_its_tables_stand_behind_the_changed_one() {
        let taken = read("WITH next AS (SELECT id FROM jobs LIMIT $1) UPDATE tasks SET a = $2 FROM next");
        assert_eq!(taken.tables, ["tasks", "jobs", "next"]);
        assert!(taken.changes_rows() && !taken.adds_rows() && !taken.is_read());
        assert_eq!(taken.stored_tables().collect::<Vec<_>>(), ["tasks", "jobs"]);
        let added = read("WITH new AS (INSERT INTO notes (a) VALUES ($1) RETURNING id) SELECT id FROM new");
        assert!(added.verb == "select" && added.adds_rows() && !added.is_read());
        assert!(read("WITH a AS (SELECT 1 FROM notes) SELECT * FROM a").is_read());
        assert!(!read("EXPLAIN DELETE FROM notes").changes_rows());
    }

    #[test]
    fn a_copy_adds_rows_if_it_reads_and_names_its_table_and_no_file() {
        let copied = read("COPY public.notes (id, title) FROM STDIN");
        assert!(copied.adds_rows() && copied.changes_rows());
        assert_eq!(copied.tables, ["public.notes"]);
        let sent = read("COPY (SELECT id FROM notes) TO STDOUT");
        assert!(!sent.changes_rows());
        assert_eq!(sent.tables, ["notes"]);
    }

    proptest! {
        #[test]
        fn comments_blanks_parentheses_and_large_letters_before_a_verb_never_change_it(
            before in "( |\n|\t|;|\\(|--[a-z '(]{0,9}\n|/\\*[a-z '();]{0,9}\\*/){0,8}",
            verb in "select|insert|update|delete|merge|copy|explain|values",
            part in "|with a as \\(select 1\\) |with a\\(b\\) as \\(/\\* x \\*/update t\\), c as \\(select \\(1\\)\\) ",
            large in any::<bool>(),
        ) {
            let text = format!("{part}{verb} x from t");
            let text = if large { text.to_uppercase() } else { text };
            let (bare, prefixed) = (read(&text), read(&format!("{before}{text}")));
            prop_assert_eq!(&bare.verb, &verb);
            prop_assert_eq!(&prefixed.verb, &verb);
            prop_assert_eq!(prefixed.changes_rows(), bare.changes_rows());
        }

        #[test]
        fn no_text_breaks_the_reader(text in "[ a-z\"'(),.;*$0-9=<>:/\\-]{0,80}|\\PC{0,60}") {
            let _ = read(&text);
            let _ = read_index(&text);
            let _ = read(&format!("SELECT {text} FROM {text} WHERE {text} ORDER BY {text}"));
        }
    }
}

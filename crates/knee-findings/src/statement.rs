//! What a SQL statement asks for, as far as rules need it: tables, compared columns, order.
//!
//! Reads tokens, not grammar: it understands the statements that services send, and finds less in others. It never finds
//! fault with a text, because texts can be cut off. Does not know the database.

use std::collections::BTreeMap;

/// What a statement asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own about the text")]
pub(crate) struct Statement {
    /// Its first word in small letters: `select`, `update`.
    pub verb: String,
    /// Tables in the order in which they are named; with a schema if the text has one.
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

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A name or a word; quoted names keep their letters.
    Word { text: String, quoted: bool },
    /// A literal or a parameter.
    Value,
    /// An operator or a sign.
    Sign(String),
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
    let mut statement =
        Statement { verb: word(&tokens, 0).unwrap_or_default().to_owned(), ..Statement::default() };
    let aliases = tables(&tokens, &mut statement);
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

fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut place = 0;
    while let Some(&first) = chars.get(place) {
        let next = chars.get(place + 1).copied();
        place = match first {
            c if c.is_whitespace() => place + 1,
            '-' if next == Some('-') => after(&chars, place, |c| c == '\n'),
            '/' if next == Some('*') => after_comment(&chars, place),
            '\'' => {
                tokens.push(Token::Value);
                after(&chars, place + 1, |c| c == '\'')
            }
            '"' => {
                let end = after(&chars, place + 1, |c| c == '"');
                let inner = &chars[place + 1..end.saturating_sub(1).max(place + 1).min(chars.len())];
                tokens.push(Token::Word { text: inner.iter().collect(), quoted: true });
                end
            }
            c if c.is_ascii_digit() || (c == '$' && next.is_some_and(|next| next.is_ascii_digit())) => {
                tokens.push(Token::Value);
                after(&chars, place + 1, |c| !(c.is_ascii_alphanumeric() || c == '.')) - 1
            }
            '?' => {
                tokens.push(Token::Value);
                place + 1
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = after(&chars, place + 1, |c| !(c.is_alphanumeric() || c == '_' || c == '$')) - 1;
                let text: String = chars[place..end].iter().collect();
                tokens.push(Token::Word { text: text.to_lowercase(), quoted: false });
                end
            }
            c if "<>=!:~".contains(c) => {
                let end = after(&chars, place + 1, |c| !"<>=:~".contains(c)) - 1;
                tokens.push(Token::Sign(chars[place..end].iter().collect()));
                end
            }
            c => {
                tokens.push(Token::Sign(c.to_string()));
                place + 1
            }
        };
    }
    tokens
}

/// The place behind the first character from `place` on for which `is_end` holds; one behind the end without one.
fn after(chars: &[char], place: usize, is_end: impl Fn(char) -> bool) -> usize {
    let rest = chars.get(place..).unwrap_or_default();
    place + rest.iter().position(|c| is_end(*c)).unwrap_or(rest.len()) + 1
}

fn after_comment(chars: &[char], place: usize) -> usize {
    let rest = chars.get(place..).unwrap_or_default();
    place + rest.windows(2).position(|pair| pair == ['*', '/']).map_or(rest.len(), |end| end + 2)
}

/// The word at a place, unless it is quoted: then it is a name.
fn word(tokens: &[Token], place: usize) -> Option<&str> {
    match tokens.get(place)? {
        Token::Word { text, quoted: false } => Some(text),
        _ => None,
    }
}

fn is_sign(tokens: &[Token], place: usize, sign: &str) -> bool {
    matches!(tokens.get(place), Some(Token::Sign(found)) if found == sign)
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

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[ a-z\"'(),.;*$0-9=<>:/\\-]{0,80}|\\PC{0,60}") {
            let _ = read(&text);
            let _ = read_index(&text);
            let _ = read(&format!("SELECT {text} FROM {text} WHERE {text} ORDER BY {text}"));
        }
    }
}

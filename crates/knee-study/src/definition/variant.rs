//! Variants: each extends another, down to one that extends none.
//!
//! Does not apply a variant to a service: the test fixture does.

use std::collections::BTreeMap;

use knee_core::fixture::{Reset, Setting};

use super::Variant;
use super::lookup::{Known, check_value, in_order, lookup, refuse_own, service, written};
use super::problem::Finder;
use super::raw::{self, Text};

/// All variants with all their settings, in the order of the file. Those that cannot be resolved are noted and left
/// out.
pub(super) fn variants(
    raw: BTreeMap<Text, raw::Variant>,
    known: &Known,
    finder: &mut Finder<'_>,
) -> Vec<Variant> {
    let written = in_order(raw);
    for (name, variant) in &written {
        check(name, variant, &written, known, finder);
    }
    if written.is_empty() {
        finder.note(0..0, "a study needs variants", "declare one as [variants.NAME]");
    }
    let mut variants = Vec::new();
    for (name, variant) in &written {
        let Some(chain) = chain(name, &written) else {
            let what = format!("variant `{}` extends itself", name.get_ref());
            let position = variant.extends.as_ref().map_or_else(|| name.span(), toml::Spanned::span);
            finder.note(position, what, "one variant of this chain must not extend another variant");
            continue;
        };
        let named = chain.iter().find_map(|(_, variant)| variant.service.clone());
        let service = service(named, name.span(), known, finder);
        let resolved = resolved(name, &chain, service, known);
        if !resolved.env.is_empty() || resolved.command.is_some() || resolved.revision.is_some() {
            refuse_own(
                &format!("variant `{}`", name.get_ref()),
                &resolved.service,
                name.span(),
                known,
                finder,
            );
        }
        check_data(name, &resolved, known, finder);
        variants.push(resolved);
    }
    variants
}

/// Refuses statements that nothing would take back: they are part of the seeded data.
fn check_data(name: &Text, variant: &Variant, known: &Known, finder: &mut Finder<'_>) {
    let declared = known.fixture.service.get(&variant.service);
    let comes_back = declared.is_some_and(|service| matches!(service.reset, Reset::Stores | Reset::Seed));
    if !variant.sql.is_empty() && !comes_back {
        let what = format!(
            "variant `{}` has `sql`, but no reset of service `{}` takes it back",
            name.get_ref(),
            variant.service
        );
        let hint = format!("set `reset = \"stores\"` in [service.{}]", variant.service);
        finder.note(name.span(), what, hint);
    }
}

/// Notes a PostgreSQL server that knee does not start.
fn check_server(named: &Text, known: &Known, finder: &mut Finder<'_>) {
    let servers = known.fixture.postgres.keys().map(String::as_str);
    let own = known.fixture.postgres.get(named.get_ref()).is_some_and(|server| server.address.is_some());
    if lookup("PostgreSQL server", named, servers, finder) && own {
        let what = format!("a variant cannot change `postgres.{}`: you run it, not knee", named.get_ref());
        finder.note(named.span(), what, "leave out its `address`, so that knee starts one");
    }
}

/// Looks up every name of one variant.
fn check(
    name: &Text,
    variant: &raw::Variant,
    all: &[(Text, raw::Variant)],
    known: &Known,
    finder: &mut Finder<'_>,
) {
    if name.get_ref().is_empty() || name.get_ref().chars().any(|letter| letter.is_control() || letter == ',')
    {
        finder.note(name.span(), "the name of a variant must have letters, no comma and no line break", "");
    }
    if let Some(extends) = &variant.extends {
        lookup("variant", extends, all.iter().map(|(name, _)| name.get_ref().as_str()), finder);
    }
    for (switch, value) in &variant.switches {
        if lookup("switch", switch, known.switches.keys().map(String::as_str), finder) {
            let values = &known.switches[switch.get_ref()].values;
            check_value(switch.get_ref(), &written(value.get_ref()), values, value.span(), finder);
        }
    }
    for server in variant.sql.keys().chain(variant.settings.keys()) {
        check_server(server, known, finder);
    }
    for (server, statements) in &variant.sql {
        if statements
            .get_ref()
            .iter()
            .any(|statement| statement.trim().is_empty() || statement.contains('\0'))
        {
            let what = format!("a statement for `{}` is empty", server.get_ref());
            finder.note(statements.span(), what, "as in [\"CREATE INDEX ON tasks (owner)\"]");
        }
    }
    if let Some(command) = variant.command.as_ref().filter(|command| command.get_ref().is_empty()) {
        finder.note(command.span(), "a command needs a program", "as in [\"target/release/server\"]");
    }
    if let Some(revision) = variant.revision.as_ref().filter(|revision| !is_revision(revision.get_ref())) {
        let what = format!("`{}` is not a git revision", revision.get_ref());
        finder.note(revision.span(), what, "give a branch, a tag or a commit");
    }
}

/// Whether git reads the text as a revision and not as an option. The caller checks whether it exists.
fn is_revision(text: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-._/@^~{}".contains(letter);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(allowed)
}

/// The variant, the variant it extends, and so on; `None` for a circle. An unknown variant ends the chain.
fn chain<'a>(name: &'a Text, all: &'a [(Text, raw::Variant)]) -> Option<Vec<(&'a Text, &'a raw::Variant)>> {
    let find = |name: &Text| all.iter().find(|(known, _)| known.get_ref() == name.get_ref());
    let mut chain: Vec<(&Text, &raw::Variant)> = Vec::new();
    let mut next = find(name);
    while let Some((name, variant)) = next {
        if chain.len() > all.len() {
            return None;
        }
        chain.push((name, variant));
        next = variant.extends.as_ref().and_then(find);
    }
    Some(chain)
}

/// Settings of the whole chain; settings nearer to the variant win.
fn resolved(name: &Text, chain: &[(&Text, &raw::Variant)], service: String, known: &Known) -> Variant {
    let defaults = known.switches.iter().map(|(name, switch)| (name.clone(), switch.default.clone()));
    let mut variant = Variant {
        name: name.get_ref().clone(),
        text: chain.first().and_then(|(_, variant)| variant.text.clone()).unwrap_or_default(),
        extends: chain.get(1).map(|(name, _)| name.get_ref().clone()),
        service,
        switches: defaults.collect(),
        env: BTreeMap::new(),
        command: None,
        revision: None,
        sql: BTreeMap::new(),
        settings: BTreeMap::new(),
    };
    for (_, layer) in chain.iter().rev() {
        let switches = layer.switches.iter();
        variant
            .switches
            .extend(switches.map(|(name, value)| (name.get_ref().clone(), written(value.get_ref()))));
        variant.env.extend(layer.env.clone());
        if let Some(command) = &layer.command {
            variant.command = Some(command.get_ref().clone());
        }
        if let Some(revision) = &layer.revision {
            variant.revision = Some(revision.get_ref().clone());
        }
        for (server, statements) in &layer.sql {
            let all = variant.sql.entry(server.get_ref().clone()).or_default();
            all.extend(statements.get_ref().iter().cloned());
        }
        for (server, settings) in &layer.settings {
            let all = variant.settings.entry(server.get_ref().clone()).or_default();
            all.extend(settings.iter().map(|(name, value)| (name.clone(), of_postgres(value))));
        }
    }
    variant
}

/// A setting as PostgreSQL reads it.
fn of_postgres(value: &Setting) -> String {
    match value {
        Setting::Bool(true) => "on".to_owned(),
        Setting::Bool(false) => "off".to_owned(),
        other => written(other),
    }
}

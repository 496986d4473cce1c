//! Arms: each builds on another, down to one that builds on none.
//!
//! Does not apply an arm to a service: whoever starts services does.

use std::collections::BTreeMap;

use super::Arm;
use super::problem::Finder;
use super::raw::{self, Text};
use super::resolve::{Known, check_value, in_order, lookup, service, written};

/// All arms with all their settings, in the order of the file. Those that cannot be resolved are noted and left out.
pub(super) fn arms(raw: BTreeMap<Text, raw::Arm>, known: &Known, finder: &mut Finder<'_>) -> Vec<Arm> {
    let written = in_order(raw);
    for (name, arm) in &written {
        check(name, arm, &written, known, finder);
    }
    if written.is_empty() {
        finder.note(0..0, "a study needs arms", "declare one as [arms.NAME]");
    }
    let mut arms = Vec::new();
    for (name, arm) in &written {
        let Some(chain) = chain(name, &written) else {
            let what = format!("arm `{}` builds on itself", name.get_ref());
            let place = arm.on.as_ref().map_or_else(|| name.span(), toml::Spanned::span);
            finder.note(place, what, "follow its `on` from arm to arm; one of them has to build on none");
            continue;
        };
        let named = chain.iter().find_map(|(_, arm)| arm.service.clone());
        let service = service(named, name.span(), known, finder);
        arms.push(resolved(name, &chain, service, known));
    }
    arms
}

/// Looks up every name of one arm.
fn check(name: &Text, arm: &raw::Arm, all: &[(Text, raw::Arm)], known: &Known, finder: &mut Finder<'_>) {
    if name.get_ref().is_empty() || name.get_ref().chars().any(|letter| letter.is_control() || letter == ',')
    {
        finder.note(name.span(), "the name of an arm has letters, no comma and no line break", "");
    }
    if let Some(on) = &arm.on {
        lookup("arm", on, all.iter().map(|(name, _)| name.get_ref().as_str()), finder);
    }
    for (switch, value) in &arm.switches {
        if lookup("switch", switch, known.switches.keys().map(String::as_str), finder) {
            let values = &known.switches[switch.get_ref()].values;
            check_value(switch.get_ref(), &written(value.get_ref()), values, value.span(), finder);
        }
    }
    if let Some(command) = arm.command.as_ref().filter(|command| command.get_ref().is_empty()) {
        finder.note(command.span(), "a command needs a program", "as in [\"target/release/server\"]");
    }
    if let Some(revision) = arm.revision.as_ref().filter(|revision| !is_revision(revision.get_ref())) {
        let what = format!("`{}` is no git revision", revision.get_ref());
        finder.note(revision.span(), what, "a branch, a tag or a commit");
    }
}

/// What git could take for a revision and not for an option. Whether it exists is the caller's to find out.
fn is_revision(text: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-._/@^~{}".contains(letter);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(allowed)
}

/// The arm, the arm it builds on, and so on; `None` if that goes round in a circle. An unknown one ends it.
fn chain<'a>(name: &'a Text, all: &'a [(Text, raw::Arm)]) -> Option<Vec<(&'a Text, &'a raw::Arm)>> {
    let find = |name: &Text| all.iter().find(|(known, _)| known.get_ref() == name.get_ref());
    let mut chain: Vec<(&Text, &raw::Arm)> = Vec::new();
    let mut next = find(name);
    while let Some((name, arm)) = next {
        if chain.len() > all.len() {
            return None;
        }
        chain.push((name, arm));
        next = arm.on.as_ref().and_then(find);
    }
    Some(chain)
}

/// Settings of the whole chain; what is nearer to the arm wins.
fn resolved(name: &Text, chain: &[(&Text, &raw::Arm)], service: String, known: &Known) -> Arm {
    let defaults = known.switches.iter().map(|(name, switch)| (name.clone(), switch.default.clone()));
    let mut arm = Arm {
        name: name.get_ref().clone(),
        text: chain.first().and_then(|(_, arm)| arm.text.clone()).unwrap_or_default(),
        on: chain.get(1).map(|(name, _)| name.get_ref().clone()),
        service,
        switches: defaults.collect(),
        env: BTreeMap::new(),
        command: None,
        revision: None,
    };
    for (_, layer) in chain.iter().rev() {
        let switches = layer.switches.iter();
        arm.switches.extend(switches.map(|(name, value)| (name.get_ref().clone(), written(value.get_ref()))));
        arm.env.extend(layer.env.clone());
        if let Some(command) = &layer.command {
            arm.command = Some(command.get_ref().clone());
        }
        if let Some(revision) = &layer.revision {
            arm.revision = Some(revision.get_ref().clone());
        }
    }
    arm
}

//! Turns a variant into the fixture's changes of a service and its stores.
//!
//! Does not start anything.

use std::collections::BTreeMap;

use knee_core::fixture::Setting;
use knee_fixture::Overrides;
use knee_study::definition::{Definition, Passed, Variant};

/// The changes of one service by a variant: the switches passed to the service and, for the variant's own service,
/// environment, command and revision.
pub fn overrides(definition: &Definition, variant: &Variant, service: &str) -> Overrides {
    let mut overrides = Overrides::default();
    for (name, switch) in definition.switches.iter().filter(|(_, switch)| switch.service == service) {
        let value = variant.switches.get(name).unwrap_or(&switch.default);
        match &switch.passed {
            Passed::Env(variable) => drop(overrides.env.insert(variable.clone(), value.clone())),
            Passed::Argument(argument) => overrides.args.push(argument.replace("{value}", value)),
        }
    }
    if variant.service == service {
        overrides.env.extend(variant.env.clone());
        overrides.command.clone_from(&variant.command);
        overrides.revision.clone_from(&variant.revision);
        overrides.sql.clone_from(&variant.sql);
    }
    // Of every service: a start without them would take them back.
    overrides.postgres =
        variant.settings.iter().map(|(server, settings)| (server.clone(), of(settings))).collect();
    overrides
}

fn of(settings: &BTreeMap<String, String>) -> BTreeMap<String, Setting> {
    settings.iter().map(|(name, value)| (name.clone(), Setting::Text(value.clone()))).collect()
}

/// Services that a variant changes besides the one under load; they start first.
pub fn others(definition: &Definition, variant: &Variant, loaded: &str) -> Vec<String> {
    let result = definition.switches.values().map(|switch| &switch.service).chain([&variant.service]);
    let mut others: Vec<String> = result.filter(|service| *service != loaded).cloned().collect();
    others.sort();
    others.dedup();
    others.retain(|service| definition.fixture.service.contains_key(service));
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"title = "switches"

[service.main]
command = ["server", "--port", "{port}"]
env = { LOG = "warn" }
reset = "stores"

[postgres.db]

[switches.tx_mode]
default = "deferred"
env = "TX_MODE"

[switches.workers]
default = 4
argument = "--workers={value}"

[variants.stock]

[variants.more]
extends = "stock"
switches = { workers = 8, tx_mode = "immediate" }
env = { LOG = "error" }

[variants.old]
extends = "stock"
command = ["old-server"]
revision = "v1"

[variants.indexed]
extends = "stock"
sql = { db = ["CREATE INDEX ON t (n)"] }
settings = { db = { work_mem = "8MB" } }

[workloads.list]
path = "/"

[design]
kind = "ladder"
"#;

    #[test]
    fn a_variant_passes_its_service_every_switch_and_its_own_environment_on_top() {
        let study = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
        let of = |variant: &str| overrides(&study, study.variant(variant).unwrap(), "main");
        let more = of("more");
        assert_eq!(more.args, ["--workers=8"]);
        assert_eq!((more.env["TX_MODE"].as_str(), more.env["LOG"].as_str()), ("immediate", "error"));
        assert_eq!((more.command, more.revision), (None, None));
        let stock = of("stock");
        assert_eq!((stock.args, stock.env["TX_MODE"].as_str()), (vec!["--workers=4".to_owned()], "deferred"));
        assert!(!stock.env.contains_key("LOG"), "the service's own is not repeated");
        let old = of("old");
        assert_eq!(old.command.as_deref(), Some(&["old-server".to_owned()][..]));
        assert_eq!(old.revision.as_deref(), Some("v1"));
        let indexed = of("indexed");
        assert_eq!(indexed.sql["db"], ["CREATE INDEX ON t (n)"]);
        assert_eq!(indexed.postgres["db"]["work_mem"], Setting::Text("8MB".to_owned()));
        let elsewhere = overrides(&study, study.variant("indexed").unwrap(), "another");
        assert!(elsewhere.sql.is_empty() && elsewhere.postgres == indexed.postgres);
        let another = overrides(&study, study.variant("more").unwrap(), "another");
        assert_eq!(another, Overrides::default(), "switches are passed to their own service only");
    }
}

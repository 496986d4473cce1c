//! Resolves a written definition: looks up every name and checks every number, with its position.
//!
//! Does not read text; see [`super::raw`].

use std::collections::BTreeMap;

use knee_core::fixture::{Declaration, Setting};
use toml::Spanned;

use super::lookup::{Known, check_value, in_order, lookup, refuse_own, service, written};
use super::problem::Finder;
use super::raw::{self, Document, Text};
use super::{
    Definition, DesignKind, Load, Passed, Switch, Workload, claim, plan, statement, variant, workload,
};
use crate::study::lineup;

/// What a definition is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Variants are measured and compared.
    Compare,
    /// One variant is started.
    Start,
}

/// The definition, if it is complete; the finder has the mistakes.
pub(super) fn definition(
    document: Document,
    purpose: Purpose,
    finder: &mut Finder<'_>,
    exists: &dyn Fn(&str) -> bool,
) -> Option<Definition> {
    let fixture = Declaration {
        service: document.service,
        postgres: document.postgres,
        redis: document.redis,
        generator: document.generator,
    };
    if document.title.get_ref().trim().is_empty() {
        finder.note(document.title.span(), "a study needs a title", "");
    }
    let mut known = Known {
        fixture,
        switches: BTreeMap::new(),
        statements: Vec::new(),
        variants: Vec::new(),
        workloads: Vec::new(),
        of_one_endpoint: Vec::new(),
        without_events: Vec::new(),
    };
    let named: Vec<Text> = document.workloads.keys().cloned().collect();
    let named: Vec<&str> = named.iter().map(|name| name.get_ref().as_str()).collect();
    known.switches = switches(document.switches, &known, &named, finder);
    known.statements = document.statements.keys().map(|name| name.get_ref().clone()).collect();
    let statements = statement::statements(document.statements, &known.fixture, finder);
    let variants = variant::variants(document.variants, &known, finder);
    let workloads = workload::workloads(document.workloads, &known, finder, exists);
    known.variants = variants.iter().map(|variant| variant.name.clone()).collect();
    known.workloads = workloads.iter().map(|workload| workload.name.clone()).collect();
    let single = workloads.iter().filter(|workload| matches!(workload.load, Load::Request(_)));
    known.of_one_endpoint = single.map(|workload| workload.name.clone()).collect();
    let plain = |workload: &&Workload| matches!(&workload.load, Load::Request(one) if !one.stream);
    known.without_events = workloads.iter().filter(plain).map(|workload| workload.name.clone()).collect();
    let claims_compare = document.claims.values().any(|claim| claim.against_workload.is_some());
    let one_is_enough = claims_compare || purpose == Purpose::Start;
    let design = plan::design(document.design, &variants, one_is_enough, &known, finder)?;
    // Claims and published figures can speak of variants that the design makes.
    let made = lineup::taking_part(&design, &variants).into_iter().map(|variant| variant.name);
    if design.kind == DesignKind::Growth {
        // There a variant takes part at its amounts alone: `stock at 1000`.
        known.variants.clear();
    }
    let more: Vec<String> = made.filter(|name| !known.variants.contains(name)).collect();
    known.variants.extend(more);
    let claims = claim::claims(document.claims, &known, finder);
    let published = claim::published(document.published, document.source.as_deref(), &known, finder);
    Some(Definition {
        title: document.title.into_inner(),
        question: document.question,
        source: document.source,
        claims_in: document.claims_in,
        fixture: known.fixture,
        switches: known.switches,
        statements,
        variants,
        workloads,
        design,
        claims,
        published,
    })
}

fn switches(
    raw: BTreeMap<Text, raw::Switch>,
    known: &Known,
    workloads: &[&str],
    finder: &mut Finder<'_>,
) -> BTreeMap<String, Switch> {
    let mut switches = BTreeMap::new();
    for (name, raw) in in_order(raw) {
        let values: Vec<String> = raw.values.iter().flatten().map(written).collect();
        let default = written(raw.default.get_ref());
        check_value(name.get_ref(), &default, &values, raw.default.span(), finder);
        let passed = match (raw.env, raw.argument) {
            (Some(variable), None) if !variable.get_ref().is_empty() => Passed::Env(variable.into_inner()),
            (None, Some(argument)) => {
                if !argument.get_ref().contains("{value}") {
                    finder.note(
                        argument.span(),
                        "the argument of a switch has no `{value}`",
                        "as in \"--mode={value}\"",
                    );
                }
                Passed::Argument(argument.into_inner())
            }
            _ => {
                let what = format!("switch `{}` needs either `env` or `argument`", name.get_ref());
                finder.note(name.span(), what, "the service gets the value through it");
                // Variants can name it without a second complaint; the definition is refused as it is.
                Passed::Env(String::new())
            }
        };
        let service = service(raw.service, name.span(), known, finder);
        refuse_own(&format!("switch `{}`", name.get_ref()), &service, name.span(), known, finder);
        let text = raw.text.unwrap_or_default();
        let affects = raw.affects.map(|names| {
            let here =
                names.iter().filter(|name| lookup("workload", name, workloads.iter().copied(), finder));
            here.map(|name| name.get_ref().clone()).collect()
        });
        let remedies = remedies(raw.remedies, name.get_ref(), &values, finder);
        switches
            .insert(name.into_inner(), Switch { text, default, values, passed, service, affects, remedies });
    }
    switches
}

/// The values of a switch that are remedies, by the code of the finding. The codes are not checked here:
/// the crate of the findings knows them.
fn remedies(
    raw: BTreeMap<Text, Spanned<Setting>>,
    switch: &str,
    values: &[String],
    finder: &mut Finder<'_>,
) -> BTreeMap<String, String> {
    let mut remedies = BTreeMap::new();
    for (code, value) in raw {
        let written = written(value.get_ref());
        check_value(switch, &written, values, value.span(), finder);
        remedies.insert(code.into_inner(), written);
    }
    remedies
}

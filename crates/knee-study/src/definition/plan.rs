//! The table `[design]`: variants, blocks and metrics.
//!
//! Does not put trials in order; see [`crate::design`].

use std::collections::BTreeMap;

use knee_core::fixture::Reset;
use knee_core::unit::Nanos;
use toml::Spanned;

use super::lookup::{Known, in_order, look_in, lookup, time, whole, written};
use super::problem::Finder;
use super::raw::{self, Text};
use super::{Design, DesignKind, Growth, Passed, Variant};
use crate::metric::{self, Metric};

/// With fewer blocks than this no difference survives the correction for six metrics: the least p
/// of the exact test is 2 / 2^R.
pub const BLOCKS_MIN: usize = 8;

/// Default number of blocks.
const BLOCKS: usize = 10;

/// Default metrics.
const METRICS: [Metric; 4] = [Metric::Goodput, Metric::P50, Metric::P95, Metric::Errors];

/// The design; its mistakes are noted. `None` only if there is no variant for it. One variant is enough where claims have
/// two sides of it, or where nothing is compared.
pub(super) fn design(
    raw: Spanned<raw::Design>,
    variants: &[Variant],
    one_is_enough: bool,
    known: &Known,
    finder: &mut Finder<'_>,
) -> Option<Design> {
    let position = raw.span();
    let raw = raw.into_inner();
    let order = order(&raw, known, finder);
    let pairs = pairs(&raw, known, finder);
    let baseline = named(raw.baseline.as_ref(), known, finder).or_else(|| order.first().cloned())?;
    let growth = growth(raw.growth.as_ref(), known, finder);
    let blocks = number("blocks", raw.blocks.as_ref(), (BLOCKS_MIN as i64, 1_000), BLOCKS, finder);
    let design = Design {
        kind: raw.kind,
        best: named(raw.best.as_ref(), known, finder),
        blocks,
        quick: quick(raw.quick.as_deref().unwrap_or_default(), &order, finder),
        restart_every: number("restart_every", raw.restart_every.as_ref(), (1, 1_000), 1, finder),
        warm_up: span(raw.warm_up.clone(), 3, finder),
        settle: span(raw.settle.clone(), 1, finder),
        measure: span(raw.measure.clone(), 5, finder),
        seed: raw.seed.unwrap_or(1),
        margin: raw.margin.as_ref().and_then(|margin| share("margin", margin, finder)),
        margins: margins(raw.margins, known, finder),
        metrics: metrics(raw.metrics, known, finder),
        extend: raw.extend.unwrap_or(false),
        aa: raw.aa.unwrap_or(false),
        order,
        baseline,
        pairs,
        growth,
    };
    if !one_is_enough {
        has_two_sides(&design, position.clone(), finder);
    }
    fits(&design, variants, position.start..position.start + 8, finder);
    Some(design)
}

/// The variants of a quick study, which must take part in the whole one.
fn quick(names: &[Text], order: &[String], finder: &mut Finder<'_>) -> Vec<String> {
    let part = names.iter().filter(|name| lookup("variant", name, order.iter().map(String::as_str), finder));
    part.map(|name| name.get_ref().clone()).collect()
}

/// Checks that there is something to compare: two variants, or one with itself.
fn has_two_sides(design: &Design, position: std::ops::Range<usize>, finder: &mut Finder<'_>) {
    let is_of_variants = matches!(design.kind, DesignKind::Ladder | DesignKind::Pairs);
    if is_of_variants && design.order.len() < 2 && design.pairs.is_empty() && !design.aa {
        finder.note(
            position.start..position.start + 8,
            "a comparison needs two variants",
            "add one, write `aa = true` to compare a variant with itself, or write a claim with `against_workload`",
        );
    }
}

/// Checks that the design has the keys that its kind needs, and no others.
fn fits(design: &Design, variants: &[Variant], position: std::ops::Range<usize>, finder: &mut Finder<'_>) {
    let mut note = |what: &str, hint: &str| finder.note(position.clone(), what, hint);
    if design.measure == Nanos::ZERO {
        note("`measure` must be above zero", "as in `measure = \"5s\"`");
    }
    match design.kind {
        DesignKind::Ablation => {
            match design.best.as_ref().map(|best| (find(variants, best), find(variants, &design.baseline))) {
                None => {
                    note(
                        "an ablation needs `best`",
                        "name the variant whose switches are removed one by one",
                    );
                }
                Some((Some(best), Some(baseline))) if best.switches == baseline.switches => {
                    note(
                        "`baseline` and `best` have the same switches",
                        "an ablation measures the switches in which the two differ",
                    );
                }
                Some(_) => {}
            }
        }
        DesignKind::Growth if design.growth.is_none() => {
            note(
                "growth needs a table `growth`",
                "as in `growth = { switch = \"rows\", sizes = [1000, 2000, 4000, 8000] }`",
            );
        }
        _ => {}
    }
    let unused = [
        ("best", design.best.is_some(), DesignKind::Ablation),
        ("pairs", !design.pairs.is_empty(), DesignKind::Pairs),
        ("growth", design.growth.is_some(), DesignKind::Growth),
    ];
    for (key, given, kind) in unused {
        if given && design.kind != kind {
            note(&format!("`{key}` does nothing in this kind of design"), "take it out, or change `kind`");
        }
    }
}

fn find<'a>(variants: &'a [Variant], name: &str) -> Option<&'a Variant> {
    variants.iter().find(|variant| variant.name == name)
}

/// The variants that take part: those listed, or those of the pairs, or all.
fn order(raw: &raw::Design, known: &Known, finder: &mut Finder<'_>) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for name in raw.order.iter().flatten() {
        if look_in("variant", name, &known.variants, finder) {
            if order.contains(name.get_ref()) {
                finder.note(
                    name.span(),
                    format!("variant `{}` is listed twice", name.get_ref()),
                    "use `aa = true` for an A/A test",
                );
            } else {
                order.push(name.get_ref().clone());
            }
        }
    }
    let (of_pairs, baseline) = (raw.pairs.is_some(), raw.baseline.as_ref().map(Spanned::get_ref));
    if raw.order.is_none() && !of_pairs {
        // The baseline comes first wherever it stands in the file.
        order.extend(baseline.filter(|baseline| known.variants.contains(baseline)).cloned());
        order.extend(known.variants.iter().filter(|variant| Some(*variant) != baseline).cloned());
    }
    for name in raw.pairs.iter().flat_map(Spanned::get_ref).flat_map(Spanned::get_ref) {
        if known.variants.contains(name.get_ref()) && !order.contains(name.get_ref()) {
            order.push(name.get_ref().clone());
        }
    }
    order
}

fn named(name: Option<&Text>, known: &Known, finder: &mut Finder<'_>) -> Option<String> {
    name.filter(|name| look_in("variant", name, &known.variants, finder)).map(|name| name.get_ref().clone())
}

fn pairs(raw: &raw::Design, known: &Known, finder: &mut Finder<'_>) -> Vec<[String; 2]> {
    let mut pairs = Vec::new();
    if let Some(none) = raw.pairs.as_ref().filter(|pairs| pairs.get_ref().is_empty()) {
        finder.note(
            none.span(),
            "there are no pairs",
            "as in `pairs = [[\"stock\", \"best\"]]`, or take it out",
        );
    }
    for pair in raw.pairs.iter().flat_map(Spanned::get_ref) {
        let [from, to] = pair.get_ref().as_slice() else {
            finder.note(pair.span(), "a pair has two variants", "as in [\"before\", \"after\"]");
            continue;
        };
        let both = look_in("variant", from, &known.variants, finder)
            & look_in("variant", to, &known.variants, finder);
        if both && from.get_ref() == to.get_ref() {
            finder.note(pair.span(), "a pair has two different variants", "use `aa = true` for an A/A test");
        } else if both {
            pairs.push([from.get_ref().clone(), to.get_ref().clone()]);
        }
    }
    pairs
}

fn growth(raw: Option<&Spanned<raw::Growth>>, known: &Known, finder: &mut Finder<'_>) -> Option<Growth> {
    let raw = raw?.get_ref();
    let switch = &raw.switch;
    lookup("switch", switch, known.switches.keys().map(String::as_str), finder);
    let sizes: Vec<u64> = raw.sizes.get_ref().iter().filter_map(|size| u64::try_from(*size).ok()).collect();
    let rising = sizes.windows(2).all(|pair| pair[0] < pair[1]);
    let least = sizes.first().copied().unwrap_or_default();
    let wide = least > 0 && sizes.last().copied().unwrap_or_default() >= least.saturating_mul(8);
    if sizes.len() < 4 || sizes.len() != raw.sizes.get_ref().len() || !rising || !wide {
        let what = "growth needs at least four rising sizes, the last at least eight times the first";
        finder.note(raw.sizes.span(), what, "as in [1000, 2000, 4000, 8000]");
    }
    refuse_one_seed(switch, known, finder);
    Some(Growth { switch: switch.get_ref().clone(), sizes })
}

/// Refuses growth through a seed whose data is kept: every size would have the data of the first.
fn refuse_one_seed(name: &Text, known: &Known, finder: &mut Finder<'_>) {
    let Some(switch) = known.switches.get(name.get_ref()) else { return };
    let Some(service) = known.fixture.service.get(&switch.service) else { return };
    let Passed::Env(variable) = &switch.passed else { return };
    let passed = service.seed_env.as_ref().is_none_or(|passed| passed.contains(variable));
    if passed && !service.seed.is_empty() && service.reset == Reset::Keep {
        let what = format!(
            "the seed of `{}` gets `{}`, but runs only once with `reset = \"keep\"`",
            switch.service,
            name.get_ref()
        );
        finder.note(
            name.span(),
            what,
            "set `reset`; or `seed_env = []` if the seed does not read the switch",
        );
    }
}

fn number(
    key: &str,
    raw: Option<&Spanned<i64>>,
    range: (i64, i64),
    otherwise: usize,
    finder: &mut Finder<'_>,
) -> usize {
    raw.and_then(|number| whole(key, number, range, finder)).map_or(otherwise, |number| number as usize)
}

fn span(text: Option<Text>, otherwise_s: u64, finder: &mut Finder<'_>) -> Nanos {
    text.and_then(|text| time(&text, finder)).unwrap_or_else(|| Nanos::from_secs(otherwise_s))
}

/// A share above 0 and below 1.
pub(super) fn share(
    key: &str,
    raw: &Spanned<knee_core::fixture::Setting>,
    finder: &mut Finder<'_>,
) -> Option<f64> {
    let share = metric::share(&written(raw.get_ref())).filter(|share| *share > 0.0 && *share < 1.0);
    if share.is_none() {
        let what = format!("`{key}` must be a share above 0 and below 100 %");
        finder.note(raw.span(), what, "as in \"5%\"");
    }
    share
}

fn margins(
    raw: BTreeMap<Text, Spanned<knee_core::fixture::Setting>>,
    known: &Known,
    finder: &mut Finder<'_>,
) -> BTreeMap<Metric, f64> {
    let mut margins = BTreeMap::new();
    for (name, value) in in_order(raw) {
        let margin = share(name.get_ref(), &value, finder);
        if let (Some(metric), Some(margin)) = (metric(&name, known, finder), margin) {
            margins.insert(metric, margin);
        }
    }
    margins
}

fn metrics(raw: Option<Spanned<Vec<Text>>>, known: &Known, finder: &mut Finder<'_>) -> Vec<Metric> {
    let Some(raw) = raw else { return METRICS.to_vec() };
    if raw.get_ref().is_empty() {
        finder.note(raw.span(), "a study needs a metric", "as in [\"goodput\", \"p95\"]");
    }
    let mut metrics = Vec::new();
    for name in raw.into_inner() {
        match metric_of_trial(&name, known, finder) {
            Some(metric) if metrics.contains(&metric) => {
                finder.note(name.span(), format!("metric `{metric}` is listed twice"), "");
            }
            Some(metric) => metrics.push(metric),
            None => {}
        }
    }
    metrics
}

/// A metric of whole trials, which the study can measure.
pub(super) fn metric_of_trial(name: &Text, known: &Known, finder: &mut Finder<'_>) -> Option<Metric> {
    let metric = metric(name, known, finder)?;
    if metric.is_by_statement() {
        let what = format!("knee measures {metric} of one statement, not of a whole trial");
        finder.note(name.span(), what, "name the metric in a claim that has a `statement`");
        return None;
    }
    let plain = |workload: &String| known.without_events.contains(workload);
    if metric.is_of_events() && !known.workloads.is_empty() && known.workloads.iter().all(plain) {
        finder.note(name.span(), format!("no workload has events: there is no {metric}"), STREAMS);
        return None;
    }
    Some(metric)
}

/// What makes events of responses measurable.
pub(super) const STREAMS: &str = "give the workload `stream = true`, or a script that reads streams";

/// A metric of a name, which the study can measure.
pub(super) fn metric(name: &Text, known: &Known, finder: &mut Finder<'_>) -> Option<Metric> {
    let metric: Metric = lookup("metric", name, Metric::ALL.iter().map(|metric| metric.name()), finder)
        .then(|| name.get_ref().parse().ok())
        .flatten()?;
    let started = known.fixture.postgres.values().any(|store| store.address.is_none());
    if metric.is_of_postgres() && !started {
        let what = format!("`{metric}` is measured only of a PostgreSQL server that knee starts");
        finder.note(
            name.span(),
            what,
            "declare one as [postgres.NAME] without `address`, or take the metric out",
        );
    }
    Some(metric)
}

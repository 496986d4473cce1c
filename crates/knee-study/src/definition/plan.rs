//! The table `[design]`: which arms, how often, by what.
//!
//! Does not put trials in order; see [`crate::design`].

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use toml::Spanned;

use super::problem::Finder;
use super::raw::{self, Text};
use super::resolve::{Known, in_order, look_in, lookup, time, whole, written};
use super::{Arm, Design, Growth, Kind};
use crate::metric::{self, Metric};

/// With fewer blocks than this no difference survives the correction for six metrics: the least p
/// of the exact test is 2 / 2^R.
pub const BLOCKS_MIN: usize = 8;

/// Blocks where a design does not say.
const BLOCKS: usize = 10;

/// Metrics where a design does not say.
const METRICS: [Metric; 4] = [Metric::Rate, Metric::P50, Metric::P95, Metric::Errors];

/// The design; what is wrong with it is noted. `None` only without an arm that it could be about.
pub(super) fn design(
    raw: Spanned<raw::Design>,
    arms: &[Arm],
    known: &Known,
    finder: &mut Finder<'_>,
) -> Option<Design> {
    let place = raw.span();
    let raw = raw.into_inner();
    let order = order(&raw, known, finder);
    let pairs = pairs(&raw, known, finder);
    let base = named(raw.base.as_ref(), known, finder).or_else(|| order.first().cloned())?;
    let growth = growth(raw.growth.as_ref(), known, finder);
    let blocks = number("blocks", raw.blocks.as_ref(), (BLOCKS_MIN as i64, 1_000), BLOCKS, finder);
    let design = Design {
        kind: raw.kind,
        best: named(raw.best.as_ref(), known, finder),
        blocks,
        quick: quick(raw.quick.as_deref().unwrap_or_default(), &order, finder),
        restart_every: number("restart_every", raw.restart_every.as_ref(), (1, 1_000), 1, finder),
        warm_up: span(raw.warm_up.clone(), 3, finder),
        washout: span(raw.washout.clone(), 1, finder),
        measure: span(raw.measure.clone(), 5, finder),
        seed: raw.seed.unwrap_or(1),
        margin: raw.margin.as_ref().and_then(|margin| share("margin", margin, finder)),
        margins: margins(raw.margins, finder),
        metrics: metrics(raw.metrics, finder),
        extend: raw.extend.unwrap_or(false),
        aa: raw.aa.unwrap_or(false),
        order,
        base,
        pairs,
        growth,
    };
    fits(&design, arms, place.start..place.start + 8, finder);
    Some(design)
}

/// The arms of a quick study, which have to take part in the whole one.
fn quick(names: &[Text], order: &[String], finder: &mut Finder<'_>) -> Vec<String> {
    let part = names.iter().filter(|name| lookup("arm", name, order.iter().map(String::as_str), finder));
    part.map(|name| name.get_ref().clone()).collect()
}

/// Whether the kind has what it needs, and nothing it does not use.
fn fits(design: &Design, arms: &[Arm], place: std::ops::Range<usize>, finder: &mut Finder<'_>) {
    let mut note = |what: &str, hint: &str| finder.note(place.clone(), what, hint);
    if design.measure == Nanos::ZERO {
        note("a trial of no time measures nothing", "as in `measure = \"5s\"`");
    }
    match design.kind {
        Kind::Ladder | Kind::Pairs if design.order.len() < 2 && design.pairs.is_empty() && !design.aa => {
            note("a comparison needs two arms", "or `aa = true`, to compare an arm with itself");
        }
        Kind::Ablation => match design.best.as_ref().map(|best| (find(arms, best), find(arms, &design.base)))
        {
            None => note("an ablation needs `best`", "the arm whose switches are removed one by one"),
            Some((Some(best), Some(base))) if best.switches == base.switches => {
                note(
                    "`base` and `best` have the same switches",
                    "an ablation takes apart in what they differ",
                );
            }
            Some(_) => {}
        },
        Kind::Growth if design.growth.is_none() => {
            note(
                "growth needs a table `growth`",
                "as in `growth = { switch = \"rows\", sizes = [1000, 2000, 4000, 8000] }`",
            );
        }
        _ => {}
    }
    let unused = [
        ("best", design.best.is_some(), Kind::Ablation),
        ("pairs", !design.pairs.is_empty(), Kind::Pairs),
        ("growth", design.growth.is_some(), Kind::Growth),
    ];
    for (key, given, kind) in unused {
        if given && design.kind != kind {
            note(&format!("`{key}` does nothing in this kind of design"), "take it out, or change `kind`");
        }
    }
}

fn find<'a>(arms: &'a [Arm], name: &str) -> Option<&'a Arm> {
    arms.iter().find(|arm| arm.name == name)
}

/// The arms that take part: those listed, or those of the pairs, or all.
fn order(raw: &raw::Design, known: &Known, finder: &mut Finder<'_>) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for name in raw.order.iter().flatten() {
        if look_in("arm", name, &known.arms, finder) {
            if order.contains(name.get_ref()) {
                finder.note(
                    name.span(),
                    format!("arm `{}` is listed twice", name.get_ref()),
                    "use `aa = true` for an A/A",
                );
            } else {
                order.push(name.get_ref().clone());
            }
        }
    }
    let (of_pairs, base) = (raw.pairs.is_some(), raw.base.as_ref().map(Spanned::get_ref));
    if raw.order.is_none() && !of_pairs {
        // The base comes first wherever it stands in the file.
        order.extend(base.filter(|base| known.arms.contains(base)).cloned());
        order.extend(known.arms.iter().filter(|arm| Some(*arm) != base).cloned());
    }
    for name in raw.pairs.iter().flat_map(Spanned::get_ref).flat_map(Spanned::get_ref) {
        if known.arms.contains(name.get_ref()) && !order.contains(name.get_ref()) {
            order.push(name.get_ref().clone());
        }
    }
    order
}

fn named(name: Option<&Text>, known: &Known, finder: &mut Finder<'_>) -> Option<String> {
    name.filter(|name| look_in("arm", name, &known.arms, finder)).map(|name| name.get_ref().clone())
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
            finder.note(pair.span(), "a pair has two arms", "as in [\"before\", \"after\"]");
            continue;
        };
        let both = look_in("arm", from, &known.arms, finder) & look_in("arm", to, &known.arms, finder);
        if both && from.get_ref() == to.get_ref() {
            finder.note(pair.span(), "a pair has two different arms", "use `aa = true` for an A/A");
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
        let what = "growth needs four or more rising sizes, the last eight times the first or more";
        finder.note(raw.sizes.span(), what, "as in [1000, 2000, 4000, 8000]");
    }
    Some(Growth { switch: switch.get_ref().clone(), sizes })
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

fn share(key: &str, raw: &Spanned<knee_core::fixture::Setting>, finder: &mut Finder<'_>) -> Option<f64> {
    let share = metric::share(&written(raw.get_ref())).filter(|share| *share > 0.0 && *share < 1.0);
    if share.is_none() {
        let what = format!("`{key}` is a share above 0 and below 100 %");
        finder.note(raw.span(), what, "as in \"5%\"");
    }
    share
}

fn margins(
    raw: BTreeMap<Text, Spanned<knee_core::fixture::Setting>>,
    finder: &mut Finder<'_>,
) -> BTreeMap<Metric, f64> {
    let mut margins = BTreeMap::new();
    for (name, value) in in_order(raw) {
        if let (Some(metric), Some(margin)) = (metric(&name, finder), share(name.get_ref(), &value, finder)) {
            margins.insert(metric, margin);
        }
    }
    margins
}

fn metrics(raw: Option<Spanned<Vec<Text>>>, finder: &mut Finder<'_>) -> Vec<Metric> {
    let Some(raw) = raw else { return METRICS.to_vec() };
    if raw.get_ref().is_empty() {
        finder.note(raw.span(), "a study needs a metric", "as in [\"rate\", \"p95\"]");
    }
    let mut metrics = Vec::new();
    for name in raw.into_inner() {
        match metric(&name, finder) {
            Some(metric) if metrics.contains(&metric) => {
                finder.note(name.span(), format!("metric `{metric}` is listed twice"), "");
            }
            Some(metric) => metrics.push(metric),
            None => {}
        }
    }
    metrics
}

/// A metric of a name.
pub(super) fn metric(name: &Text, finder: &mut Finder<'_>) -> Option<Metric> {
    lookup("metric", name, Metric::ALL.iter().map(|metric| metric.name()), finder)
        .then(|| name.get_ref().parse().ok())
        .flatten()
}

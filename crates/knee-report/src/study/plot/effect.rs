//! Effects with their intervals: one row a comparison, the verdict's word beside it, no change and the margin marked.
//!
//! Does not choose what is compared; rows are in the order of the conclusion, grouped by why they are compared.

use knee_study::metric::{Direction, Metric, Unit};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Conclusion, Effect, Relation};
use plotters::prelude::*;

use super::axis::{self, Axis};
use super::canvas::{self, Area, BAND, BLUE, Chart, Drawing, Drawn, FAINT, GREEN, ORANGE, PANELS, Row, Rows};
use crate::number;
use crate::study::{value, words};

/// Pixels for the change and the verdict beside a panel.
const WORDS: u32 = 158;
const VERDICT: i32 = 78;

/// Most comparisons in the picture of all workloads.
const PRIMARY_MAX: usize = 36;

/// A row of the picture, and the effects of it by panel.
struct Compared<'a> {
    row: Row,
    effects: Vec<Option<&'a Effect>>,
}

/// The picture of the primary comparisons: under all workloads, or if they are many, under that of the decisive one.
pub(super) fn primary(conclusion: &Conclusion) -> Option<Drawing> {
    let metric = *conclusion.metrics.first()?;
    let all: Vec<&Effect> =
        conclusion.effects.iter().filter(|effect| effect.primary && effect.change.is_some()).collect();
    let headline = &conclusion.headline;
    let mut headline = headline.decided.iter().chain(&headline.others).chain(&headline.open);
    let decisive = headline.find_map(|index| conclusion.effects.get(*index))?;
    let few = all.len() <= PRIMARY_MAX;
    let mut rows = Vec::new();
    for (workload, _) in &conclusion.workloads {
        if few || *workload == decisive.to.workload {
            let here: Vec<&Effect> =
                all.iter().copied().filter(|effect| effect.to.workload == *workload).collect();
            rows.extend(self::rows(&here, &[metric], workload).into_iter().map(
                |compared| match compared.row {
                    Row::Group(name) => {
                        Compared { row: Row::Group(format!("{workload}: {name}")), ..compared }
                    }
                    Row::Named(_) => compared,
                },
            ));
        }
    }
    rows.truncate(2 * PRIMARY_MAX);
    let level = conclusion.confidence();
    let shown = rows.iter().flat_map(|compared| &compared.effects).flatten();
    let description = shown.map(|effect| words::sentence(effect, level)).collect::<Vec<_>>().join("; ");
    let alt = format!("changes of {metric}, each with its interval");
    let title = format!("{}: change of {metric}", conclusion.title);
    let names: Vec<Row> = rows.iter().map(|compared| compared.row.clone()).collect();
    let svg = canvas::picture(canvas::height(rows.len()), |area| {
        draw(area, conclusion, &title, (&names, &rows), &[metric])
    });
    Some(Drawing { alt, description, svg })
}

/// The pictures of one workload: two metrics in each.
pub(super) fn all(conclusion: &Conclusion, workload: &str) -> Vec<Drawing> {
    let here: Vec<&Effect> = conclusion
        .effects
        .iter()
        .filter(|effect| effect.to.workload == workload && effect.change.is_some())
        .collect();
    let mut metrics: Vec<Metric> = conclusion.metrics.clone();
    // Claims can ask for others.
    for effect in &here {
        if !metrics.contains(&effect.metric) {
            metrics.push(effect.metric);
        }
    }
    metrics.retain(|metric| here.iter().any(|effect| effect.metric == *metric));
    let pages = metrics.chunks(PANELS).map(|metrics| {
        let rows = rows(&here, metrics, workload);
        let names: Vec<String> = metrics.iter().map(Metric::to_string).collect();
        let alt = format!("changes of {} under {workload} with their intervals", names.join(" and "));
        let names: Vec<Row> = rows.iter().map(|compared| compared.row.clone()).collect();
        let svg = canvas::picture(canvas::height(rows.len()), |area| {
            draw(area, conclusion, &format!("Effects: {workload}"), (&names, &rows), metrics)
        });
        let level = conclusion.confidence();
        let shown = rows.iter().flat_map(|compared| &compared.effects).flatten();
        let description = shown.map(|effect| words::sentence(effect, level)).collect::<Vec<_>>().join("; ");
        Drawing { alt, description, svg }
    });
    pages.collect()
}

/// Comparisons in their order, those with the same reason below each other with a heading.
fn rows<'a>(here: &[&'a Effect], metrics: &[Metric], workload: &str) -> Vec<Compared<'a>> {
    let mut groups: Vec<(String, Vec<Compared<'a>>)> = Vec::new();
    let mut done: Vec<&Effect> = Vec::new();
    let same = |a: &Effect, b: &Effect| a.from == b.from && a.to == b.to && a.relation == b.relation;
    for effect in here.iter().copied().filter(|effect| metrics.contains(&effect.metric)) {
        if done.iter().any(|known| same(known, effect)) {
            continue;
        }
        done.push(effect);
        let (heading, name) = named(effect, workload);
        let of = |metric: &Metric| here.iter().copied().find(|e| same(e, effect) && e.metric == *metric);
        let row = Compared { row: Row::Named(name), effects: metrics.iter().map(of).collect() };
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((heading, vec![row])),
        }
    }
    let heading = |name: String| Compared { row: Row::Group(name), effects: Vec::new() };
    groups.into_iter().flat_map(|(name, rows)| std::iter::once(heading(name)).chain(rows)).collect()
}

/// Why two variants are compared, and how the row is called.
fn named(effect: &Effect, workload: &str) -> (String, String) {
    let (from, to) = (&effect.from, &effect.to);
    let pair = || {
        // First, because what does not fit is cut at the end.
        let part = words::part_of(&[from, to]).map(|part| format!("{part}: "));
        let from = if from.workload == workload {
            from.variant.clone()
        } else {
            format!("{} under {}", from.variant, from.workload)
        };
        format!("{}{from} → {}", part.unwrap_or_default(), to.variant)
    };
    match &effect.relation {
        Relation::Step => ("each step".to_owned(), pair()),
        Relation::SinceFirst => (format!("all since {}", from.variant), to.variant.clone()),
        Relation::Pair => ("pairs".to_owned(), pair()),
        Relation::Added(switch) => (format!("alone on {}", from.variant), switch.clone()),
        Relation::Removed(switch) => (format!("as the last step to {}", to.variant), switch.clone()),
        Relation::Whole => ("all together".to_owned(), pair()),
        Relation::Aa => ("chance alone".to_owned(), pair()),
        Relation::Claim => ("by claims".to_owned(), pair()),
    }
}

fn draw(
    area: &Area<'_>,
    conclusion: &Conclusion,
    title: &str,
    (names, rows): (&[Row], &[Compared<'_>]),
    metrics: &[Metric],
) -> Drawn {
    let level = number::fixed((1.0 - conclusion.alpha) * 100.0, 0);
    let reading = format!(
        "dot: change, line: {level} % interval over blocks, arrow: further than drawn · vertical line: no change · band: changes too small to matter"
    );
    canvas::heading(area, title, &reading)?;
    let layout = Rows::new(names, metrics.len(), WORDS);
    layout.names(area)?;
    for (position, metric) in metrics.iter().enumerate() {
        let effects: Vec<(usize, &Effect)> = rows
            .iter()
            .enumerate()
            .filter_map(|(row, known)| Some((row, (*known.effects.get(position)?)?)))
            .collect();
        panel(area, &layout, (position, rows.len()), *metric, &effects)?;
    }
    Ok(())
}

fn panel(
    area: &Area<'_>,
    layout: &Rows<'_>,
    (position, rows): (usize, usize),
    metric: Metric,
    effects: &[(usize, &Effect)],
) -> Drawn {
    let Some(axis) = axis(metric, effects) else { return Ok(()) };
    let better = match metric.direction() {
        Direction::More => " (right is better)",
        Direction::Less => " (left is better)",
        Direction::None => "",
    };
    let mut chart = layout.panel(area, position, &axis, &format!("change of {metric}{better}"))?;
    let at = |change: f64| axis.held(axis::place_of_change(metric, change)).0;
    let top = rows as f64;
    if let Some((_, first)) = effects.first() {
        let low =
            if metric.unit() == Unit::Share { -first.margin } else { (1.0 + first.margin).recip() - 1.0 };
        let band = Rectangle::new([(at(low), 0.0), (at(first.margin), top)], BAND.filled());
        chart.draw_series([band])?;
    }
    chart.draw_series([PathElement::new(vec![(at(0.0), 0.0), (at(0.0), top)], FAINT.stroke_width(1))])?;
    for (row, effect) in effects {
        interval(&mut chart, &axis, effect, layout.position(*row))?;
        let change = effect.change.map_or_else(String::new, |range| value::change(metric, range.estimate));
        layout.word(area, position, *row, (0, &change.replace(" points", " pt")), colour(effect.verdict))?;
        layout.word(
            area,
            position,
            *row,
            (VERDICT, words::verdict(metric, effect.verdict)),
            colour(effect.verdict),
        )?;
    }
    Ok(())
}

/// An axis with no change, the margin, every estimate and every end, as far as ends are known.
fn axis(metric: Metric, effects: &[(usize, &Effect)]) -> Option<Axis> {
    let ends = effects.iter().flat_map(|(_, effect)| {
        let range = effect.change;
        let known = range.map(|range| [Some(range.estimate), range.low, range.high]);
        known.into_iter().flatten().flatten().chain([effect.margin, -effect.margin, 0.0])
    });
    axis::of_changes(metric, &ends.map(|change| axis::place_of_change(metric, change)).collect::<Vec<f64>>())
}

fn interval(chart: &mut Chart<'_, '_>, axis: &Axis, effect: &Effect, y: f64) -> Drawn {
    let Some(range) = effect.change else { return Ok(()) };
    let colour = colour(effect.verdict);
    let at = |change: f64| axis.held(axis::place_of_change(effect.metric, change));
    let (low, beyond_low) = range.low.map_or((axis.from, true), at);
    let (high, beyond_high) = range.high.map_or((axis.to, true), at);
    chart.draw_series([PathElement::new(vec![(low, y), (high, y)], colour.stroke_width(2))])?;
    for (end, beyond, turn) in [(low, beyond_low, 1), (high, beyond_high, -1)] {
        if beyond {
            let head = EmptyElement::at((end, y))
                + Polygon::new(vec![(0, 0), (7 * turn, -4), (7 * turn, 4)], colour.filled());
            chart.draw_series([head])?;
        } else {
            let tick =
                EmptyElement::at((end, y)) + PathElement::new(vec![(0, -4), (0, 4)], colour.stroke_width(2));
            chart.draw_series([tick])?;
        }
    }
    chart.draw_series([Circle::new((at(range.estimate).0, y), 4, colour.filled())])?;
    Ok(())
}

const fn colour(verdict: Verdict) -> RGBColor {
    match verdict {
        Verdict::Better => GREEN,
        Verdict::Worse => ORANGE,
        Verdict::Same | Verdict::More | Verdict::Less => BLUE,
        Verdict::Undecided | Verdict::Open => FAINT,
    }
}

//! A sweep as a page: the capacity and what bounds it, the curve, the steps.
//!
//! Lays out a [`SweepView`] with its sentences. Does not judge steps and does not find the capacity.

use knee_study::sweep::rule::Outcome;
use maud::{Markup, html};

use super::data::Data;
use super::front::{Front, Trust};
use super::page::{Page, Place};
use super::picture::figure;
use super::run;
use super::section::Section;
use super::table::{Table, cell, number as of_number, words as of_words};
use super::words;
use crate::chart::{Axis, Band, Chart, Dot, Limit, Line, Shape, Stroke, Tone};
use crate::kept;
use crate::number::{self, level};
use crate::study::{day, machine, program};
use crate::sweep::curve::{self, Curve, Percentile};
use crate::sweep::events::{Events, REMARK};
use crate::sweep::stops::Stops;
use crate::sweep::{Remark, SweepView, Tail, cpu_sentences, resource_sentences, text, word};
use crate::text::Style;
use crate::text::finding::HEADING;
use crate::text::validity::{count, meaning};

/// The page of a sweep. Of `style`, only the unit of times matters.
pub fn sweep(view: &SweepView<'_>, style: &Style) -> String {
    let kept = kept::sweep(view, style);
    let data = Data::whole(kept.printed.json.clone(), &kept);
    Page {
        front: front(view),
        sections: sections(view, style),
        data,
        moments: Vec::new(),
        place: Place::File,
    }
    .render()
}

fn front(view: &SweepView<'_>) -> Front {
    let summary =
        format!("Validity: {}, {}{}", view.state.name(), count(view.reasons.len()), meaning(view.state));
    Front {
        kind: "Sweep",
        subject: view.about.title.clone(),
        terms: view.terms.clone(),
        answer: vec![view.headline.clone()],
        points: Vec::new(),
        limits: limits(view),
        trust: Some(Trust {
            standing: view.state.into(),
            summary,
            reasons: view.reasons.iter().map(|reason| (reason.clone(), String::new())).collect(),
            evidence: Vec::new(),
        }),
        tiles: Vec::new(),
        picture: html! { (picture(&view.curve)) (findings(view)) },
    }
}

/// The first findings at the limit, the observed resource that is full, and what the CPUs say.
fn limits(view: &SweepView<'_>) -> Vec<String> {
    let found = view.stops.iter().flat_map(|stops| {
        let said = move |sentence: String| format!("At {}: {sentence}", stops.place);
        run::first_findings(&stops.found).into_iter().map(said)
    });
    let resource = resource_sentences(view.report).into_iter().take(1);
    found.chain(resource).chain(view.report.cpu.iter().flat_map(cpu_sentences)).collect()
}

/// All findings at the limit.
fn stops(stops: &Stops, style: &Style) -> Section {
    let body = run::what_stops_it_at(&stops.found, &stops.notes, style);
    Section::new("findings", HEADING, stops.remark(), body)
}

fn findings(view: &SweepView<'_>) -> Markup {
    html! {
        dl.facts {
            @for one in &view.findings {
                dt { (one.name) }
                dd {
                    strong { (words::sentence(&one.value)) }
                    @if !one.remark.is_empty() { span.aside { (words::sentence(&one.remark)) } }
                }
            }
        }
    }
}

fn sections(view: &SweepView<'_>, style: &Style) -> Vec<Section> {
    let mut sections: Vec<Section> = view.stops.iter().map(|found| stops(found, style)).collect();
    sections.push(Section::new("steps", "Steps", "", steps(view, style)));
    let events = view.events.as_ref().map(|found| events(found, view.curve.unit, style));
    sections.extend(events.map(|table| Section::new("events", "Events", REMARK, table)));
    sections.extend(view.remarks.iter().map(remark));
    sections.push(Section::new("validity", "Validity", "", validity(view)));
    sections.push(Section::new("next", "Next", "", list(&view.next)));
    sections.push(Section::new("machine", "Machine", "", about(view)));
    sections
}

fn remark(remark: &Remark) -> Section {
    Section::new(
        &remark.heading.to_ascii_lowercase().replace(' ', "-"),
        remark.heading,
        "",
        list(&remark.sentences),
    )
}

fn list(sentences: &[String]) -> Markup {
    html! { ul { @for sentence in sentences { li { (words::sentence(sentence)) } } } }
}

fn steps(view: &SweepView<'_>, style: &Style) -> Markup {
    let before = [of_number("step"), of_words("purpose"), of_number(view.curve.unit), of_number("goodput/s")];
    let after = [of_number("failed"), of_number("in flight"), of_words("result"), of_words("why")];
    let limits = view.limits.iter().map(String::as_str);
    let times = std::iter::once("p50").chain(view.tails.iter().map(|tail| tail.name.as_str())).chain(limits);
    let times = times.map(of_number);
    let mut table = Table::new("Steps of the sweep", before.into_iter().chain(times).chain(after));
    for (place, row) in view.rows.iter().enumerate() {
        let before = vec![
            cell(row.number.to_string()),
            cell(row.purpose.name()),
            cell(&row.level),
            cell(&row.goodput),
        ];
        let tails = view.tails.iter().filter_map(|tail| tail.readings.get(place).copied());
        let times = std::iter::once(row.p50).chain(tails).map(|time| cell(text::time(time, style.unit)));
        let after = vec![
            cell(&row.failed),
            cell(&row.in_flight),
            cell(word(row.outcome)),
            html! { div.wide-cell { (words::sentence(&row.why)) } },
        ];
        let over = row.over.iter().map(cell);
        table.rows.push(before.into_iter().chain(times).chain(over).chain(after).collect());
    }
    let missing = view.tails.iter().filter_map(Tail::missing);
    html! {
        (table.markup())
        @for note in missing { p.note { (note) } }
    }
}

/// The times of events at each step.
fn events(found: &Events, unit: &str, style: &Style) -> Markup {
    let columns = std::iter::once("step").chain(found.columns(unit)).map(of_number);
    let mut table = Table::new("Events of each step", columns);
    for row in &found.rows {
        let step = [cell(row.number.to_string()), cell(&row.level)];
        let times = row.readings().map(|reading| cell(text::time(reading, style.unit)));
        table.rows.push(step.into_iter().chain(times).collect());
    }
    table.markup()
}

fn validity(view: &SweepView<'_>) -> Markup {
    html! {
        p { strong { (view.state.name()) } ", " (count(view.reasons.len())) (meaning(view.state)) "." }
        (list(&view.reasons))
        @for note in &view.notes { p.note { (note) } }
    }
}

fn about(view: &SweepView<'_>) -> Markup {
    let about = view.about;
    let fact = |name: &str, text: &str| html! { dt { (name) } dd { (words::text(text)) } };
    html! {
        dl.facts {
            (fact("Target", &about.title))
            (fact("Settings", &view.terms.join(", ")))
            (fact("Started", &day(about.started)))
            (fact("Program", &program(&about.build)))
            (fact("Machine", &machine(&about.machine)))
        }
    }
}

/// Response time above, goodput below, over the same levels and with the same bands.
fn picture(curve: &Curve) -> Markup {
    let Some(levels) = curve.levels() else {
        return html! { p.note { "There are too few steps for a curve." } };
    };
    let charts = [response(curve, levels), Some(goodput(curve, levels))];
    html! { @for chart in charts.iter().flatten() { (figure(chart)) } }
}

/// Heights of the two charts, in pixels of a wide page.
const HEIGHT_ABOVE: f64 = 240.0;
const HEIGHT_BELOW: f64 = 170.0;

/// Colours and strokes of the percentiles, the median first.
const PERCENTILES: [(Tone, Stroke); 4] = [
    (Tone::Blue, Stroke::Solid),
    (Tone::Orange, Stroke::Dashed),
    (Tone::Ochre, Stroke::Dashed),
    (Tone::Grey, Stroke::Dotted),
];

/// The percentiles of each step as dots, a line through the medians of each level, and the limits.
fn response(curve: &Curve, levels: (f64, f64)) -> Option<Chart> {
    let (least, most) = curve.times_with_limits()?;
    let name = format!("Response time over {}", curve.unit);
    let shown: Vec<(&Percentile, (Tone, Stroke))> =
        curve.percentiles.iter().zip(PERCENTILES.into_iter().cycle()).collect();
    let names: Vec<&str> = curve.percentiles.iter().map(|one| one.name.as_str()).collect();
    let description = format!(
        "{} from {} to {}; dots are steps, lines go through the median of each level.",
        names.join(", "),
        number::time(least * 1e9, None),
        number::time(most * 1e9, None)
    );
    let lines = shown.iter().rev().map(|(one, (tone, stroke))| {
        let points = one.medians.iter().map(|(level, seconds)| Some((*level, seconds * 1e9)));
        Line::new(&one.name, *tone, *stroke, points.collect())
    });
    let dots = shown.iter().rev().flat_map(|(one, (tone, _))| dots_of_times(curve, one, *tone));
    let limits = curve.limits.iter().map(|(name, seconds)| Limit { at: seconds * 1e9, name: name.clone() });
    let y = Axis::times("logarithmic; dots: steps, line: their median", least * 1e9, most * 1e9);
    let x = Axis { name: String::new(), ..axis(curve, levels) };
    let chart = Chart::of_lines(&name, &description, x, y, lines.collect());
    Some(Chart {
        bands: bands(curve, true),
        dots: dots.collect(),
        limits: limits.collect(),
        height: HEIGHT_ABOVE,
        ..chart
    })
}

fn dots_of_times(curve: &Curve, of: &Percentile, tone: Tone) -> Vec<Dot> {
    let dot = |(at, seconds, outcome): &(f64, f64, Outcome)| Dot {
        at: (*at, seconds * 1e9),
        tone,
        shape: if *outcome == Outcome::Void { Shape::Ring } else { Shape::Disc },
        text: format!("{} {} at {} {}", of.name, number::time(seconds * 1e9, None), level(*at), curve.unit),
    };
    of.steps.iter().map(dot).collect()
}

fn goodput(curve: &Curve, levels: (f64, f64)) -> Chart {
    let most = curve.dots.iter().map(|dot| dot.goodput).fold(0.0, f64::max);
    let name = format!("Goodput over {}", curve.unit);
    let description =
        format!("Highest goodput {} {}. Disc: pass, cross: fail, ring: void.", level(most), curve.rate_unit);
    let dots = curve.dots.iter().map(|dot| {
        let (shape, tone) = match dot.outcome {
            Outcome::Pass => (Shape::Disc, Tone::Green),
            Outcome::Fail => (Shape::Cross, Tone::Orange),
            Outcome::Void => (Shape::Ring, Tone::Grey),
        };
        let text = format!(
            "{}: {} {} at {} {}",
            word(dot.outcome),
            level(dot.goodput),
            curve.rate_unit,
            level(dot.level),
            curve.unit
        );
        Dot { at: (dot.level, dot.goodput), tone, shape, text }
    });
    let y = Axis::amounts(&format!("{}; disc: pass, cross: fail, ring: void", curve.rate_unit), most);
    let chart = Chart::of_lines(&name, &description, axis(curve, levels), y, Vec::new());
    Chart { bands: bands(curve, false), dots: dots.collect(), height: HEIGHT_BELOW, ..chart }
}

fn axis(curve: &Curve, levels: (f64, f64)) -> Axis {
    let axis = Axis::levels(curve.unit, levels, curve.log_levels);
    if curve.is_counted() { axis.of_counts() } else { axis }
}

/// Knee, capacity and breaking point; named in one of two charts.
fn bands(curve: &Curve, named: bool) -> Vec<Band> {
    let band = |mark: &curve::Mark| Band {
        from: mark.interval.low,
        to: mark.interval.high,
        tone: match mark.letter {
            'K' => Tone::Sky,
            'C' => Tone::Green,
            _ => Tone::Purple,
        },
        name: if named {
            format!("{} {} to {}", mark.name, level(mark.interval.low), level(mark.interval.high))
        } else {
            String::new()
        },
        barred: named,
    };
    curve.marks.iter().map(band).collect()
}

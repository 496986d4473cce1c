//! The pictures of a study as SVG: the timeline of its variants, effects with their intervals, growth with the data.
//!
//! Drawn by `plotters`, with other colours on a dark page, and described in words. Does not calculate: positions on an
//! axis come from the conclusion's figures. People who see red and green alike can distinguish the colours, and
//! each colour has its word beside it.

pub(super) mod axis;

mod canvas;

mod effect;

mod growth;

mod timeline;

use knee_study::study::Conclusion;

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// The primary comparisons, under all workloads.
    Primary,
    /// What each variant measured, beside what was published.
    Timeline,
    /// Each comparison with its interval and verdict.
    Effects,
    /// Figures over the amount of data.
    Growth,
}

impl PlotKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Timeline => "timeline",
            Self::Effects => "effects",
            Self::Growth => "growth",
        }
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The name of its file, unique within a study: small letters, digits, `-`, `_` and `.svg`.
    pub file: String,
    /// What it shows.
    pub kind: PlotKind,
    /// Under which workload; empty for all of them.
    pub workload: String,
    /// Alternative text.
    pub alt: String,
    /// The picture.
    pub svg: String,
}

/// All pictures of a conclusion, in the order of the document.
pub fn all(conclusion: &Conclusion) -> Vec<Plot> {
    let mut plots: Vec<Plot> = Vec::new();
    if let Some(drawing) = effect::primary(conclusion) {
        let (kind, workload) = (PlotKind::Primary, String::new());
        let file = format!("{}.svg", kind.name());
        plots.push(Plot { file, kind, workload, alt: drawing.alt.clone(), svg: drawing.described() });
    }
    for (workload, _) in &conclusion.workloads {
        let drawn = [
            (PlotKind::Timeline, timeline::all(conclusion, workload)),
            (PlotKind::Effects, effect::all(conclusion, workload)),
            (PlotKind::Growth, growth::all(conclusion, workload)),
        ];
        for (kind, pictures) in drawn {
            for (page, drawing) in pictures.into_iter().enumerate() {
                let page = if page == 0 { String::new() } else { format!("-{}", page + 1) };
                let file = unused(&plots, &format!("{}-{}{page}", kind.name(), slug(workload)));
                let svg = drawing.described();
                plots.push(Plot { file, kind, workload: workload.clone(), alt: drawing.alt, svg });
            }
        }
    }
    plots
}

/// Whether a file name is one that a picture of a study can have.
pub fn is_name(file: &str) -> bool {
    let Some(name) = file.strip_suffix(".svg") else { return false };
    let of_workload = [PlotKind::Timeline, PlotKind::Effects, PlotKind::Growth].iter().any(|kind| {
        let workload = name.strip_prefix(kind.name()).and_then(|rest| rest.strip_prefix('-'));
        workload.is_some_and(|workload| !workload.is_empty() && slug(workload) == workload)
    });
    of_workload || name == PlotKind::Primary.name()
}

/// A name that no other picture has.
fn unused(plots: &[Plot], wanted: &str) -> String {
    let names = (1..).map(|n| if n == 1 { format!("{wanted}.svg") } else { format!("{wanted}_{n}.svg") });
    let mut free = names.filter(|name| plots.iter().all(|plot| plot.file != *name));
    free.next().unwrap_or_default()
}

/// A name that any file system and any link takes.
fn slug(name: &str) -> String {
    let plain = |letter: char| match letter {
        'a'..='z' | '0'..='9' | '-' | '_' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '-',
    };
    name.chars().map(plain).collect()
}

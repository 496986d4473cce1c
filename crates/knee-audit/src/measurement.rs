//! What readers find in an output: measurements, relations between their figures, and statements about them.
//!
//! Plain data. Does not read formats and does not judge figures.

use crate::number::Figure;

/// Everything that was found in one output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What the output is, as people call it.
    pub format: String,
    /// The measurements, in the order of the output.
    pub measurements: Vec<Measurement>,
    /// Statements of a text about figures.
    pub statements: Vec<Statement>,
}

impl Document {
    /// The last measurement before a line that satisfies a condition.
    pub fn before(&self, line: usize, is_meant: impl Fn(&Measurement) -> bool) -> Option<&Measurement> {
        self.measurements.iter().rfind(|one| one.line <= line && is_meant(one))
    }

    /// Indexes of the measurements of each table with at least two rows, totals left out.
    pub fn tables(&self) -> Vec<Vec<&Measurement>> {
        let mut tables: Vec<(usize, Vec<&Measurement>)> = Vec::new();
        for one in self.measurements.iter().filter(|one| !one.is_total) {
            let Some(table) = one.table else { continue };
            match tables.last_mut() {
                Some((number, rows)) if *number == table => rows.push(one),
                _ => tables.push((table, vec![one])),
            }
        }
        tables.into_iter().map(|(_, rows)| rows).filter(|rows| rows.len() > 1).collect()
    }
}

/// The program that printed a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tool {
    /// Grafana k6.
    K6,
    /// oha.
    Oha,
    /// hey.
    Hey,
    /// wrk.
    Wrk,
    /// wrk2.
    Wrk2,
    /// `ApacheBench`.
    Ab,
    /// vegeta.
    Vegeta,
    /// Locust.
    Locust,
    /// Not known: a table or a text.
    #[default]
    Unknown,
}

impl Tool {
    /// The tool's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::K6 => "k6",
            Self::Oha => "oha",
            Self::Hey => "hey",
            Self::Wrk => "wrk",
            Self::Wrk2 => "wrk2",
            Self::Ab => "ab",
            Self::Vegeta => "vegeta",
            Self::Locust => "Locust",
            Self::Unknown => "a table",
        }
    }
}

/// What decides when the next request is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Each connection sends its next request when it has a response.
    Closed,
    /// Virtual users, which can pause between requests.
    Users,
    /// A schedule.
    Open,
    /// Not known.
    #[default]
    Unknown,
}

/// A percentile of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentile {
    /// As printed: `p95`, `99%`.
    pub name: String,
    /// Share of the times that are at most this, from 0 to 1.
    pub share: f64,
    /// The time.
    pub time: Figure,
}

/// A row of a histogram of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The printed time of the row.
    pub time: Figure,
    /// Number of times in the row.
    pub count: u64,
}

/// Responses that stayed away while the slowest request was open, beside those of the rest of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Silence {
    /// Longest time without any response while it was open, in s.
    pub longest: f64,
    /// Three quarters of the rest of the run pass between responses that are at most this far apart, in s.
    pub typical: f64,
    /// Number of requests that took at least half as long as the slowest, itself included.
    pub n_slow: u64,
}

/// A figure with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// As the output calls it.
    pub name: String,
    /// The figure.
    pub figure: Figure,
}

impl Named {
    /// A figure with its name.
    pub fn new(name: impl Into<String>, figure: Figure) -> Self {
        Self { name: name.into(), figure }
    }
}

/// What a cell of a table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It names the row.
    Label,
    /// It says something about the row, by the title of its column.
    Note,
    /// It has the load of the row, which was read; words can follow the number.
    Load,
    /// It has a setting, or a figure that was not read.
    Other,
}

/// A cell of a table that is more than a figure that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its column, from 0.
    pub column: usize,
    /// What it is for.
    pub role: Role,
    /// Its text.
    pub text: String,
}

/// An equation that the tool's own arithmetic guarantees.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The first times the second is the product.
    Product {
        /// One factor.
        first: Named,
        /// The other factor.
        second: Named,
        /// Their product.
        product: Named,
    },
    /// The parts are together the whole.
    Sum {
        /// The parts.
        parts: Vec<Named>,
        /// Their sum.
        whole: Named,
    },
    /// A part as a share of the whole.
    Share {
        /// The part.
        part: Named,
        /// The whole.
        whole: Named,
        /// The share, from 0 to 1.
        share: Named,
    },
}

/// One run, one endpoint or one row of a table. A figure that was not printed is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// What it is of: an endpoint, a metric, the label of a row; can be empty.
    pub label: String,
    /// Line of the output where it begins, from 1.
    pub line: usize,
    /// The program that printed it.
    pub tool: Tool,
    /// What decides when the next request is sent.
    pub load: Load,
    /// The table that it is a row of.
    pub table: Option<usize>,
    /// The cells of the row that are more than a figure that was read; none of Locust's tables.
    pub cells: Vec<Cell>,
    /// Whether the row is the sum of the other rows of its table.
    pub is_total: bool,
    /// Most requests in flight at any time: connections, or virtual users that send one at a time.
    pub connections: Option<Figure>,
    /// Users that the machine of the row is said to serve.
    pub supported: Option<Figure>,
    /// Length of the measurement, in s.
    pub duration: Option<Figure>,
    /// Requests that ended with a response, or all requests if the output does not separate them.
    pub requests: Option<Figure>,
    /// Requests that ended without a response.
    pub unanswered: u64,
    /// Requests that were open at the deadline; part of `unanswered`.
    pub cut_off: u64,
    /// Requests that were given up after a time limit; part of `unanswered` if the output lists it there.
    pub timed_out: u64,
    /// Requests that ended with an error of their connection; not part of `requests` and `unanswered` (wrk).
    pub lost: u64,
    /// Responses with another status than 200 to 299 that the output does not count as failed (ab).
    pub not_success: u64,
    /// From the last send to the last response, in s; not part of `duration` (vegeta).
    pub wait: Option<Figure>,
    /// Requests per second.
    pub rate: Option<Figure>,
    /// Scheduled requests per second, of an open load.
    pub goal_rate: Option<Figure>,
    /// Starts that the generator left out because it had no free virtual user.
    pub dropped: Option<Figure>,
    /// Mean time.
    pub mean: Option<Figure>,
    /// Shortest time.
    pub min: Option<Figure>,
    /// Longest time.
    pub max: Option<Figure>,
    /// Standard deviation of the times.
    pub deviation: Option<Figure>,
    /// Percentiles, in the order of the output.
    pub percentiles: Vec<Percentile>,
    /// Number of times behind mean and percentiles, if the output has it.
    pub samples: Option<u64>,
    /// Histogram of the times, ascending.
    pub bars: Vec<Bar>,
    /// Responses by status code.
    pub statuses: Vec<(u16, u64)>,
    /// Failed requests.
    pub failed: Option<Figure>,
    /// Failed requests as a share.
    pub failed_share: Option<Figure>,
    /// Another share in the cell of the failed share, with its words.
    pub failed_aside: Option<Named>,
    /// Successful requests as a share.
    pub success_share: Option<Figure>,
    /// Mean size of a response.
    pub response_size: Option<Figure>,
    /// What happened while the slowest request was open, if the output has single requests with their moments.
    pub silence: Option<Silence>,
    /// Equations that the tool's arithmetic guarantees.
    pub relations: Vec<Relation>,
}

impl Measurement {
    /// An empty measurement of a tool.
    pub fn new(tool: Tool, line: usize) -> Self {
        Self { line, tool, ..Self::default() }
    }

    /// What holds the requests in flight.
    pub fn places(&self) -> &'static str {
        match (self.load, self.tool) {
            (Load::Users, Tool::K6 | Tool::Locust | Tool::Unknown) => "users",
            _ => "connections",
        }
    }

    /// The time of a percentile.
    pub fn percentile(&self, share: f64) -> Option<&Figure> {
        self.percentiles.iter().find(|one| (one.share - share).abs() < 1e-9).map(|one| &one.time)
    }

    /// Responses with a status of 400 or more, and all responses; `None` without status codes.
    pub fn error_statuses(&self) -> Option<(u64, u64)> {
        let sum = |from: u16| self.statuses.iter().filter(|(code, _)| *code >= from).map(|(_, n)| n).sum();
        let all: u64 = sum(0);
        (all > 0).then(|| (sum(400), all))
    }

    /// Whether it has any figure that a check can use.
    pub fn is_empty(&self) -> bool {
        self.rate.is_none()
            && self.mean.is_none()
            && self.requests.is_none()
            && self.percentiles.is_empty()
            && self.relations.is_empty()
            && self.dropped.is_none()
            && self.failed_share.is_none()
            && self.response_size.is_none()
    }

    /// Number of figures that it has.
    pub fn n_figures(&self) -> usize {
        let single = [
            &self.connections,
            &self.supported,
            &self.duration,
            &self.requests,
            &self.rate,
            &self.goal_rate,
            &self.dropped,
            &self.mean,
            &self.min,
            &self.max,
            &self.deviation,
            &self.failed,
            &self.failed_share,
            &self.success_share,
            &self.response_size,
        ];
        let relations = self.relations.iter().map(|relation| match relation {
            Relation::Sum { parts, .. } => parts.len() + 1,
            Relation::Product { .. } | Relation::Share { .. } => 1,
        });
        single.into_iter().flatten().count()
            + self.percentiles.len()
            + self.bars.len()
            + self.statuses.len()
            + relations.sum::<usize>()
    }
}

/// Whether a figure rose or fell, or whether that is better or worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Rose; better.
    Up,
    /// Fell; worse.
    Down,
}

/// The size of a change, as a text states it.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// `16×`, `6 times`.
    Factor(Figure),
    /// `25 %`, as a share.
    Share(Figure),
}

/// A change of a figure, as a text states it: "dropped from A to B (25% better)".
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Figure before.
    pub from: Figure,
    /// Figure after.
    pub to: Figure,
    /// The verb: rose or fell.
    pub verb: Option<(Direction, String)>,
    /// The stated size.
    pub size: Option<Size>,
    /// Whether that is called better (up) or worse (down).
    pub judgement: Option<(Direction, String)>,
    /// Whether less of this figure is better; `None` if the text does not say.
    pub less_is_better: Option<bool>,
    /// The percentile that the figures are of, from 0 to 1.
    pub share: Option<f64>,
}

/// What a statement says.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// A figure changed.
    Change(Box<Change>),
    /// So many responses had this status.
    StatusCount {
        /// Number of responses.
        count: Figure,
        /// The status.
        status: u16,
    },
    /// This share of the responses were errors.
    ErrorShare(Figure),
    /// Throughput grows in proportion to something: CPUs, connections.
    Linear,
    /// A setting was raised (up) or lowered (down) from an old value.
    Setting {
        /// The new value.
        value: Figure,
        /// The old value.
        old: Figure,
        /// The direction, and its word.
        direction: (Direction, String),
    },
    /// A query with a limit, and the rows that its plan expects.
    PlanRows {
        /// The limit of the query.
        limit: u64,
        /// Rows that the plan's limit returns.
        planned: u64,
        /// Rows below the limit.
        below: u64,
    },
    /// Two items of one list give the same figures.
    SameFigures {
        /// The figures.
        figures: String,
        /// The other item.
        other: String,
        /// Its line.
        other_line: usize,
    },
}

/// A statement of a text about figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Line of the text, from 1.
    pub line: usize,
    /// The words.
    pub text: String,
    /// What it says.
    pub claim: Claim,
}

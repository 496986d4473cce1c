//! A view of statistics as figures: one row per label, one column per figure.
//!
//! Knows no view; [`super::views`] lists them. A group that the server refuses for good is not asked again.

use knee_core::observation::{FigureUnit, SeriesKind};
use tokio_postgres::{Row, Statement};

use crate::figures::Figures;
use crate::session::{Answer, Refusal, Session};
use crate::text::label;

/// A figure of a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    /// An expression; null if it is unknown.
    pub(super) sql: &'static str,
    pub(super) unit: FigureUnit,
    pub(super) kind: SeriesKind,
    /// The first and the last version of the server, or of an extension, that has it.
    pub(super) since: u32,
    pub(super) until: u32,
}

/// A column that all versions have.
pub(super) const fn column(
    name: &'static str,
    sql: &'static str,
    unit: FigureUnit,
    kind: SeriesKind,
) -> Column {
    Column { name, sql, unit, kind, since: 0, until: u32::MAX }
}

impl Column {
    /// The same from a version on.
    pub(super) const fn since(self, version: u32) -> Self {
        Self { since: version, ..self }
    }

    /// The same up to a version.
    pub(super) const fn until(self, version: u32) -> Self {
        Self { until: version, ..self }
    }

    /// Whether a version has it.
    pub(super) const fn is_in(&self, version: u32) -> bool {
        self.since <= version && version <= self.until
    }
}

/// A view.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// What is missing without it.
    pub(super) what: &'static str,
    /// An expression for the label.
    pub(super) label: &'static str,
    /// Everything from `FROM` on.
    pub(super) from: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) since: u32,
    pub(super) until: u32,
}

/// A view that is being read.
pub(super) struct Group {
    view: &'static View,
    columns: Vec<&'static Column>,
    statement: Option<Statement>,
    refused: bool,
}

impl Group {
    /// The view as a version of the server has it; `None` if it has not.
    pub(super) fn of(view: &'static View, version: u32) -> Option<Self> {
        let columns: Vec<_> = view.columns.iter().filter(|column| column.is_in(version)).collect();
        let has = view.since <= version && version <= view.until && !columns.is_empty();
        has.then_some(Self { view, columns, statement: None, refused: false })
    }

    /// What it asks.
    pub(super) fn sql(&self) -> String {
        let columns = self.columns.iter().map(|column| format!(", ({})::float8", column.sql));
        let columns: String = columns.collect();
        format!("SELECT /* knee-observe */ ({})::text{columns} {}", self.view.label, self.view.from)
    }

    /// Its statement, prepared when it is needed first.
    fn prepare(&mut self, session: &Session) -> Answer<Statement> {
        if let Some(statement) = &self.statement {
            return Ok(statement.clone());
        }
        let statement = session.prepare(&self.sql())?;
        Ok(self.statement.insert(statement).clone())
    }

    /// Adds its figures.
    fn put(&self, rows: &[Row], figures: &mut Figures) {
        for row in rows {
            let of: Option<String> = row.try_get(0).unwrap_or_default();
            let of = label(&of.unwrap_or_default());
            for (place, column) in self.columns.iter().enumerate() {
                let value: Option<f64> = row.try_get(place + 1).unwrap_or_default();
                figures.put(column.name, &of, column.unit, column.kind, value);
            }
        }
    }

    /// Notes a refusal: what is missing from now on and why, if it is for good; an error if the session is over.
    fn note(&mut self, refusal: Refusal) -> Answer<Option<Missing>> {
        match refusal {
            Refusal::Never(reason) => {
                self.refused = true;
                Ok(Some((self.view.what, reason)))
            }
            Refusal::Now(_) => Ok(None),
            over @ Refusal::Over(_) => Err(over),
        }
    }
}

/// What a server refuses for good, and why.
pub(super) type Missing = (&'static str, String);

/// Adds the figures of all views, which are asked for together.
pub(super) fn read(groups: &mut [Group], session: &Session, figures: &mut Figures) -> Answer<Vec<Missing>> {
    let mut missing = Vec::new();
    let (mut asked, mut statements) = (Vec::new(), Vec::new());
    for group in groups.iter_mut().filter(|group| !group.refused) {
        match group.prepare(session) {
            Ok(statement) => {
                asked.push(group);
                statements.push(statement);
            }
            Err(refusal) => missing.extend(group.note(refusal)?),
        }
    }
    for (group, rows) in asked.into_iter().zip(session.rows_of_all(&statements)) {
        match rows {
            Ok(rows) => group.put(&rows, figures),
            Err(refusal) => missing.extend(group.note(refusal)?),
        }
    }
    Ok(missing)
}

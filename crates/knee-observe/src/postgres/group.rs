//! A view of statistics as figures: one row per label, one column per figure.
//!
//! Knows no view; [`super::views`] lists them. A group that the server refuses for good is not asked again.

use knee_core::observation::{FigureUnit, SeriesKind};
use tokio_postgres::Statement;

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

    /// What is missing without it.
    pub(super) const fn what(&self) -> &'static str {
        self.view.what
    }

    /// Its statement.
    pub(super) fn sql(&self) -> String {
        let columns = self.columns.iter().map(|column| format!(", ({})::float8", column.sql));
        let columns: String = columns.collect();
        format!("SELECT /* knee-observe */ ({})::text{columns} {}", self.view.label, self.view.from)
    }

    /// Adds its figures.
    pub(super) fn read(&mut self, session: &Session, figures: &mut Figures) -> Answer<()> {
        if self.refused {
            return Ok(());
        }
        let read = self.try_read(session, figures);
        self.refused = matches!(read, Err(Refusal::Never(_)));
        read
    }

    fn try_read(&mut self, session: &Session, figures: &mut Figures) -> Answer<()> {
        let statement = match &self.statement {
            Some(statement) => statement.clone(),
            None => self.statement.insert(session.prepare(&self.sql())?).clone(),
        };
        for row in session.rows(&statement)? {
            let of: Option<String> = row.try_get(0).unwrap_or_default();
            let of = label(&of.unwrap_or_default());
            for (place, column) in self.columns.iter().enumerate() {
                let value: Option<f64> = row.try_get(place + 1).unwrap_or_default();
                figures.put(column.name, &of, column.unit, column.kind, value);
            }
        }
        Ok(())
    }
}

//! The parts of a document: headings, paragraphs, lists, tables, pictures.
//!
//! Does not know their content or layout.

/// What a reader sees, from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The title.
    pub title: String,
    /// What follows.
    pub blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading below the title.
    Heading(String),
    /// The sentence that a reader must not miss.
    Lead(String),
    /// Running text.
    Paragraph(String),
    /// Points.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// Commands to be typed literally, one per line.
    Code(Vec<String>),
    /// A picture. Text leaves it out.
    Picture {
        /// Alternative text.
        alt: String,
        /// Where it is, as a link from the document writes it.
        link: String,
    },
    /// Links to other files. Text leaves them out.
    Links {
        /// What they are.
        name: String,
        /// Words and destination of each.
        links: Vec<(String, String)>,
    },
    /// Details; Markdown folds them.
    Folded {
        /// What it is.
        name: String,
        /// What is shown when it is opened.
        inside: Vec<Self>,
        /// Whether text includes it.
        in_text: bool,
    },
}

impl Block {
    /// Rows of a table, or points of a list; 0 for a block that has no such parts.
    pub(super) const fn parts(&self) -> usize {
        match self {
            Self::List(points) => points.len(),
            Self::Table(table) => table.rows.len(),
            _ => 0,
        }
    }

    /// The block with its first parts, and a note on how many there are more.
    pub(super) fn first(&self, parts: usize) -> Self {
        let more = self.parts().saturating_sub(parts);
        let note = format!("… and {more} more, in the JSON");
        match self {
            Self::List(points) if more > 0 => {
                Self::List(points.iter().take(parts).cloned().chain([note]).collect())
            }
            Self::Table(table) if more > 0 => {
                let mut last = vec![String::new(); table.columns.len()];
                last.iter_mut().take(1).for_each(|cell| cell.clone_from(&note));
                let rows = table.rows.iter().take(parts).cloned().chain([last]).collect();
                Self::Table(Table { columns: table.columns.clone(), rows })
            }
            all => all.clone(),
        }
    }
}

/// A table, all cells written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each with one cell per column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<const N: usize>(columns: [&str; N]) -> Self {
        Self { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() }
    }
}

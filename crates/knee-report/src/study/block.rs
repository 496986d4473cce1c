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
    /// Text to be typed literally.
    Code(String),
    /// A picture. Text leaves it out.
    Picture {
        /// Alternative text.
        alt: String,
        /// Where it is, as a link from the document writes it.
        link: String,
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

//! Colours of k6's summary.

/// Style of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Also all metrics, groups and scenarios.
    pub full: bool,
    /// Colours.
    pub color: bool,
}

/// A colour, as k6 uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Bold,
    Faint,
    Value,
    FaintValue,
    Word,
    Good,
    Bad,
}

impl Style {
    /// The text in a colour, if colours are wanted.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Bold => "1",
            Tone::Faint => "2;37",
            Tone::Value => "36",
            Tone::FaintValue => "2;36",
            Tone::Word => "37",
            Tone::Good => "32",
            Tone::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

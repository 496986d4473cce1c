//! Every sample of a run, written while it goes on as k6 writes it: JSON lines or CSV.
//!
//! Does not compute figures; the summary does.

use std::path::PathBuf;

/// The environment, asked by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where samples go, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The form.
    pub form: Form,
    /// The file; stdout if there is none. Packed if its name ends in `.gz`.
    pub file: Option<PathBuf>,
}

/// A form of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A JSON object a line.
    Json,
    /// Comma-separated values.
    Csv(TimeForm),
}

/// How CSV writes times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// Seconds since the Unix epoch.
    #[default]
    Unix,
    /// Milliseconds since then.
    UnixMilli,
    /// Microseconds since then.
    UnixMicro,
    /// Nanoseconds since then.
    UnixNano,
    /// Date and time, to the second.
    Rfc3339,
    /// Date and time, to the nanosecond.
    Rfc3339Nano,
}

impl Target {
    /// Reads `json=FILE`, `csv=FILE` or one of the forms alone.
    pub fn parse(text: &str, env: Lookup<'_>) -> Result<Self, String> {
        let (kind, file) = text.split_once('=').unwrap_or((text, ""));
        let file = |variable: &str, otherwise: &str| {
            let named = [file.to_owned(), env(variable).unwrap_or_default(), otherwise.to_owned()];
            named.into_iter().find(|name| !name.is_empty()).filter(|name| name != "-").map(PathBuf::from)
        };
        match kind {
            "json" => Ok(Self { form: Form::Json, file: file("K6_JSON_FILENAME", "") }),
            "csv" => {
                let form = Form::Csv(time_form(&env("K6_CSV_TIME_FORMAT").unwrap_or_default())?);
                Ok(Self { form, file: file("K6_CSV_FILENAME", "file.csv") })
            }
            _ => Err(format!("there is no output `{kind}`")),
        }
    }
}

fn time_form(name: &str) -> Result<TimeForm, String> {
    match name {
        "" | "unix" => Ok(TimeForm::Unix),
        "unix_milli" => Ok(TimeForm::UnixMilli),
        "unix_micro" => Ok(TimeForm::UnixMicro),
        "unix_nano" => Ok(TimeForm::UnixNano),
        "rfc3339" => Ok(TimeForm::Rfc3339),
        "rfc3339_nano" => Ok(TimeForm::Rfc3339Nano),
        other => Err(format!("`{other}` is not a value of `K6_CSV_TIME_FORMAT`")),
    }
}

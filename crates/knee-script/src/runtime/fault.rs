//! What a script has thrown, as people read it: message, and where in their own source.
//!
//! Does not decide what a throw means for the run.

use rquickjs::{CatchResultExt, CaughtError, Ctx, Value};

/// Frames shown; recursion without end has thousands, all alike.
const FRAMES_MAX: usize = 10;

/// Something thrown and not caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thrown {
    /// What it says of itself: `Error: no` for an error, the value for anything else.
    pub message: String,
    /// One line a frame, innermost first: `at f (file:///home/me/script.js:3:7)`. Empty for what is no error.
    pub frames: Vec<String>,
}

impl Thrown {
    /// A fault without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), frames: Vec::new() }
    }

    /// What `value` says of itself.
    pub fn of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        let Some(object) = value.as_object() else {
            return Self::new(text_of(ctx, value));
        };
        let Some(stack) = object.get::<_, Option<String>>("stack").ok().flatten() else {
            return Self::new(json_of(ctx, value));
        };
        let frames =
            stack.lines().map(str::trim).filter(|line| line.starts_with("at ") && !is_internal(line));
        Self { message: text_of(ctx, value), frames: frames.map(str::to_owned).collect() }
    }

    /// The error of a call, taken out of its context.
    pub fn from_error(ctx: &Ctx<'_>, error: rquickjs::Error) -> Self {
        match Err::<(), _>(error).catch(ctx) {
            Err(CaughtError::Exception(exception)) => Self::of(ctx, exception.as_value()),
            Err(CaughtError::Value(value)) => Self::of(ctx, &value),
            Err(CaughtError::Error(error)) => Self::new(error.to_string()),
            Ok(()) => Self::new("unknown error"),
        }
    }
}

impl std::fmt::Display for Thrown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.frames.iter().take(FRAMES_MAX).try_for_each(|frame| write!(f, "\n\t{frame}"))?;
        match self.frames.len().saturating_sub(FRAMES_MAX) {
            0 => Ok(()),
            more => write!(f, "\n\t... and {more} more"),
        }
    }
}

/// Frames that are no part of anybody's script.
fn is_internal(line: &str) -> bool {
    line.contains("(native)") || line.contains("(knee:")
}

/// As `String(value)`, without running out of patience with values that refuse.
fn text_of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if let Ok(text) = value.get::<rquickjs::Coerced<String>>() {
        return text.0;
    }
    ctx.catch();
    "a value that cannot be shown".to_owned()
}

fn json_of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    match ctx.json_stringify(value.clone()) {
        Ok(Some(json)) => json.to_string().unwrap_or_default(),
        Ok(None) => text_of(ctx, value),
        Err(_) => {
            ctx.catch();
            text_of(ctx, value)
        }
    }
}

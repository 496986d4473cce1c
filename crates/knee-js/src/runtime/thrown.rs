//! An exception of a script, in readable form: message, and position in the user's source.
//!
//! Does not decide what a throw means for the run.

use rquickjs::{CatchResultExt, CaughtError, Ctx, Error, Exception, Value, qjs};

/// Most frames shown; endless recursion has thousands of equal ones.
const FRAMES_MAX: usize = 10;

/// Something thrown and not caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thrown {
    /// Its message: `Error: no` for an error, the value for anything else.
    pub message: String,
    /// One line per frame, innermost first: `at f (file:///home/me/script.js:3:7)`. Empty for what is no error.
    pub frames: Vec<String>,
}

impl Thrown {
    /// A fault without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), frames: Vec::new() }
    }

    /// The same, as what a promise was rejected with.
    #[must_use]
    pub fn in_promise(mut self) -> Self {
        self.message.insert_str(0, "Uncaught (in promise) ");
        self
    }

    /// Message and frames of `value`.
    pub fn of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        let Some(object) = value.as_object() else {
            return Self::new(text_of(ctx, value));
        };
        let Some(stack) = object.get::<_, Option<String>>("stack").ok().flatten() else {
            // What k6 rejects promises with is no `Error`, but has a text.
            let is_of_k6 = object.get::<_, Value<'_>>("error").is_ok_and(|error| error.is_function());
            let shown = if is_of_k6 { text_of(ctx, value) } else { json_of(ctx, value) };
            return Self::new(shown);
        };
        let frames =
            stack.lines().map(str::trim).filter(|line| line.starts_with("at ") && !is_internal(line));
        Self { message: text_of(ctx, value), frames: frames.map(str::to_owned).collect() }
    }

    /// The error of a call, taken out of its context.
    pub fn from_error(ctx: &Ctx<'_>, error: Error) -> Self {
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

/// Throws an error that no `catch` and no `finally` of a script can see; it ends the call.
pub fn end(ctx: &Ctx<'_>, words: &str) -> Error {
    let error = match Exception::from_message(ctx.clone(), words) {
        Ok(error) => error,
        Err(error) => return error,
    };
    // SAFETY: both pointers are of this context and alive for the call, which sets a bit of the error and
    // keeps nothing.
    #[allow(unsafe_code, reason = "QuickJS can do this, and its binding has no safe way to ask for it")]
    unsafe {
        qjs::JS_SetUncatchableError(ctx.as_raw().as_ptr(), error.as_value().as_raw());
    }
    error.throw()
}

/// Frames that are not part of a script.
fn is_internal(line: &str) -> bool {
    line.contains("(native)") || line.contains("(knee:")
}

/// Like `String(value)`, but gives up on values that cannot be converted.
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

//! `k6/experimental/fs`: files that a script reads piece by piece. All VUs share the contents.
//!
//! Files are read as `open()` reads them: while the script is loaded, and only where the script can read.

use std::cell::Cell;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::class::{Class, Trace};
use rquickjs::function::{Constructor, Opt, This};
use rquickjs::{ArrayBuffer, Coerced, Ctx, Function, JsLifetime, Object, Promise, Result, TypedArray, Value};

use super::current::{state, worked};
use super::define::Define as _;
use super::{go_error, later};
use crate::program::files::FileError;
use crate::runtime::intrinsic::{self, Needs};
use crate::state::State;

/// Its exports.
pub const EXPORTS: &[&str] = &["SeekMode", "open"];

/// The modes of `seek`, by their numbers.
const MODES: [&str; 3] = ["Start", "Current", "End"];

/// An error, by its kind and its words.
type Refused = (&'static str, String);

/// A file as one VU has opened it.
pub struct Opened {
    path: String,
    content: Arc<[u8]>,
    offset: Cell<usize>,
}

/// What a script has of a file.
#[derive(Trace, JsLifetime)]
#[rquickjs::class]
pub struct File {
    #[qjs(skip_trace)]
    opened: Shared,
}

/// In which no value of JavaScript is.
type Shared = Rc<Opened>;

impl File {
    /// The file behind it.
    pub fn opened(&self) -> Shared {
        self.opened.clone()
    }
}

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    intrinsic::ensure(ctx, Needs::BINARY);
    let object = Object::new(ctx.clone())?;
    let modes = Object::new(ctx.clone())?;
    for (number, mode) in MODES.into_iter().enumerate() {
        modes.put(mode, number as u32)?;
    }
    object.put("SeekMode", modes)?;
    object.put("open", Function::new(ctx.clone(), open)?.with_name("open")?)?;
    Ok(object)
}

fn open<'js>(ctx: Ctx<'js>, path: Opt<Value<'js>>) -> Result<Promise<'js>> {
    let state = state(&ctx)?;
    let refuse = |kind, words: &str| refused(&ctx, (kind, format!("open() failed; reason: {words}")));
    if !state.init.get() {
        return refuse("ForbiddenError", "opening a file is allowed only in the Init context");
    }
    let Some(path) = path.0.filter(|path| !path.is_null() && !path.is_undefined()) else {
        return refuse("TypeError", "path cannot be null or undefined");
    };
    let path = path.get::<Coerced<String>>()?.0;
    if path.is_empty() {
        return refuse("TypeError", "path cannot be empty");
    }
    match opened(&state, &path) {
        Ok(opened) => later::fulfilled(&ctx, object(&ctx, Rc::new(opened))?),
        Err(error) => refused(&ctx, error),
    }
}

/// Opens a file. As in k6, its path begins in the folder of the script, whatever module asks.
fn opened(state: &State, path: &str) -> std::result::Result<Opened, Refused> {
    let files = &state.program.files;
    let path = without_dots(&files.folder().join(path.strip_prefix("file://").unwrap_or(path)));
    let shown = format!("{:?}", path.display().to_string());
    let read = files.read(&path).map_err(|error| match error {
        FileError::Io(_, error) if error.kind() == ErrorKind::NotFound => {
            ("NotFoundError", format!("no such file or directory {shown}"))
        }
        FileError::Io(..) | FileError::Late(_) if path.is_dir() => {
            ("InvalidResourceError", format!("cannot open {shown}: opening a directory is not supported"))
        }
        error => ("ForbiddenError", error.to_string()),
    });
    let (_, content) = read?;
    Ok(Opened { path: path.display().to_string(), content, offset: Cell::new(0) })
}

/// A path without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole
}

/// A promise that will be rejected as k6 does it.
fn refused<'js>(ctx: &Ctx<'js>, (kind, words): Refused) -> Result<Promise<'js>> {
    let error = go_error::bare(ctx, &format!("{kind}: {words}"))?;
    error.put("name", kind)?;
    error.put("message", words)?;
    later::rejected(ctx, error)
}

/// The object of a file.
fn object<'js>(ctx: &Ctx<'js>, opened: Shared) -> Result<Object<'js>> {
    let object = Class::instance(ctx.clone(), File { opened: opened.clone() })?.into_inner();
    object.put("path", opened.path.as_str())?;
    let (one, two, three) = (opened.clone(), opened.clone(), opened);
    let read = move |ctx: Ctx<'js>, into: Opt<Value<'js>>| read(&ctx, &one, into.0);
    object.put("read", Function::new(ctx.clone(), read)?.with_name("read")?)?;
    let seek = move |ctx: Ctx<'js>, offset: Opt<Value<'js>>, whence: Opt<Value<'js>>| match two
        .seek(offset.0.as_ref(), whence.0.as_ref())
    {
        Ok(place) => later::fulfilled(&ctx, place as f64),
        Err(error) => refused(&ctx, error),
    };
    object.put("seek", Function::new(ctx.clone(), seek)?.with_name("seek")?)?;
    let stat = move |ctx: Ctx<'js>| {
        let about = Object::new(ctx.clone())?;
        let name = Path::new(&three.path).file_name().unwrap_or_default();
        about.put("name", name.to_string_lossy().into_owned())?;
        about.put("size", three.content.len() as f64)?;
        later::fulfilled(&ctx, about)
    };
    object.put("stat", Function::new(ctx.clone(), stat)?.with_name("stat")?)?;
    Ok(object)
}

/// `read(into)`: fills the buffer behind an array from its start, as k6 does; the number of bytes, or null at the end.
fn read<'js>(ctx: &Ctx<'js>, opened: &Opened, into: Option<Value<'js>>) -> Result<Promise<'js>> {
    let refuse =
        |words: &str| refused(ctx, ("TypeError", format!("read() failed; reason: into argument {words}")));
    let Some(into) = into.filter(|into| !into.is_null() && !into.is_undefined()) else {
        return refuse("cannot be null or undefined");
    };
    let constructor: Constructor<'js> = ctx.globals().get("Uint8Array")?;
    let array = TypedArray::<u8>::from_value(into);
    let Some(buffer) = array.ok().and_then(|array| array.arraybuffer().ok()) else {
        return refuse("must be a Uint8Array");
    };
    if opened.offset.get() == opened.content.len() {
        return later::fulfilled(ctx, Value::new_null(ctx.clone()));
    }
    let bytes = opened.take(buffer.len());
    fill(ctx, &constructor, buffer, bytes)?;
    worked(ctx, bytes.len())?;
    later::fulfilled(ctx, bytes.len() as f64)
}

/// Copies bytes to the start of a buffer.
fn fill<'js>(
    ctx: &Ctx<'js>,
    constructor: &Constructor<'js>,
    buffer: ArrayBuffer<'js>,
    bytes: &[u8],
) -> Result<()> {
    let whole: Object<'js> = constructor.construct((buffer,))?;
    let set: Function<'js> = whole.get("set")?;
    set.call((This(whole), TypedArray::<u8>::new_copy(ctx.clone(), bytes)?))
}

impl Opened {
    /// Its path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its contents.
    pub fn content(&self) -> Arc<[u8]> {
        self.content.clone()
    }

    /// Takes up to `count` bytes.
    fn take(&self, count: usize) -> &[u8] {
        let start = self.offset.get();
        let end = self.content.len().min(start.saturating_add(count));
        self.offset.set(end);
        &self.content[start..end]
    }

    /// Takes everything that is left; returns where it begins.
    pub fn take_rest(&self) -> usize {
        self.offset.replace(self.content.len())
    }

    /// `seek(offset, whence)`: the new place. As in k6, the end is the last byte.
    fn seek(
        &self,
        offset: Option<&Value<'_>>,
        whence: Option<&Value<'_>>,
    ) -> std::result::Result<usize, Refused> {
        let number = |value: Option<&Value<'_>>, name: &str| {
            let wrong = |words| ("TypeError", format!("seek() failed; reason: the {name} argument {words}"));
            whole_number(value).map_err(wrong)
        };
        let (offset, whence) = (number(offset, "offset")?, number(whence, "whence")?);
        let refuse = |words: &str| Err(("TypeError", words.to_owned()));
        let [here, size] =
            [self.offset.get(), self.content.len()].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        let place = match whence {
            0 if offset < 0 => return refuse("offset cannot be negative when using SeekModeStart"),
            0 => offset,
            1 => here.saturating_add(offset),
            2 if offset > 0 => return refuse("offset cannot be positive when using SeekModeEnd"),
            2 => (size - 1).saturating_add(offset),
            _ => return refuse("seek() failed; reason: the whence argument must be a SeekMode"),
        };
        if place < 0 {
            return refuse("seeking before start of file");
        }
        if place > size {
            return refuse("seeking beyond end of file");
        }
        self.offset.set(place as usize);
        Ok(place as usize)
    }
}

/// A whole number, or what is wrong with it.
fn whole_number(value: Option<&Value<'_>>) -> std::result::Result<i64, &'static str> {
    let value = value.filter(|value| !value.is_null() && !value.is_undefined());
    let value = value.ok_or("cannot be null or undefined")?;
    let number = value.as_number().filter(|number| number.fract() == 0.0);
    number.map(|number| number as i64).ok_or("must be a number")
}

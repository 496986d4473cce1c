//! Globals that scripts know from browsers: `TextEncoder`, `TextDecoder`, `crypto`.
//!
//! Each is made when it is first read, in VUs whose scripts name one of them.

use rand::Rng;
use rquickjs::function::This;
use rquickjs::object::{Accessor, Property};
use rquickjs::{Ctx, Exception, Function, Object, Result, TypedArray, Value};

use super::bytes::{buffer_of, bytes_of};
use super::define::Define as _;
use super::{factory, subtle};
use crate::runtime::intrinsic::{self, Needs};

/// Puts them into the global object.
pub fn install<'js>(ctx: &Ctx<'js>) -> Result<()> {
    let globals = ctx.globals();
    lazy(&globals, "TextEncoder", text_encoder)?;
    lazy(&globals, "TextDecoder", text_decoder)?;
    lazy(&globals, "crypto", crypto)
}

/// A property that is made when it is read first, and that scripts can replace.
fn lazy<'js>(
    globals: &Object<'js>,
    name: &'static str,
    make: fn(&Ctx<'js>) -> Result<Value<'js>>,
) -> Result<()> {
    let settle = move |globals: &Object<'js>, value: Value<'js>| {
        globals.prop(name, Property::from(value).writable().configurable())
    };
    let get = move |ctx: Ctx<'js>| -> Result<Value<'js>> {
        let value = make(&ctx)?;
        settle(&ctx.globals(), value.clone())?;
        Ok(value)
    };
    let set = move |_: This<Value<'js>>, ctx: Ctx<'js>, value: Value<'js>| settle(&ctx.globals(), value);
    globals.prop(name, Accessor::new(get, set).configurable())
}

const ENCODER: &str = r"(encode) => class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return encode(String(text)); }
}";

fn text_encoder<'js>(ctx: &Ctx<'js>) -> Result<Value<'js>> {
    intrinsic::ensure(ctx, Needs::BINARY);
    let encode = |ctx: Ctx<'js>, text: String| TypedArray::<u8>::new_copy(ctx, text.as_bytes());
    let show = factory::function(ctx, "web", ENCODER)?;
    show.call((Function::new(ctx.clone(), encode)?,))
}

const DECODER: &str = r"(decode) => class TextDecoder {
  #name; #fatal; #ignoreBOM; #rest = new Uint8Array();
  constructor(label = 'utf-8', options = {}) {
    const name = { 'utf-8': 'utf-8', utf8: 'utf-8', 'unicode-1-1-utf-8': 'utf-8',
      'utf-16': 'utf-16le', 'utf-16le': 'utf-16le', 'utf-16be': 'utf-16be' }[String(label).trim().toLowerCase()];
    if (name === undefined) throw new RangeError(`unsupported encoding: ${label}`);
    this.#name = name;
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }
  get encoding() { return this.#name; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(input, options = {}) {
    const view = input === undefined ? new Uint8Array()
      : ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
      : new Uint8Array(input);
    const bytes = new Uint8Array(this.#rest.length + view.length);
    bytes.set(this.#rest);
    bytes.set(view, this.#rest.length);
    const { text, used } = decode(bytes, this.#name, this.#fatal, Boolean(options?.stream));
    this.#rest = bytes.slice(used);
    return !this.#ignoreBOM && text.charCodeAt(0) === 0xFEFF ? text.slice(1) : text;
  }
}";

fn text_decoder<'js>(ctx: &Ctx<'js>) -> Result<Value<'js>> {
    intrinsic::ensure(ctx, Needs::BINARY);
    let decode = |ctx: Ctx<'js>, bytes: Value<'js>, name: String, fatal: bool, stream: bool| {
        let bytes = bytes_of(&bytes).unwrap_or_default();
        let (text, used) = match name.as_str() {
            "utf-8" => utf8(&bytes, stream),
            _ => utf16(&bytes, name == "utf-16be", stream),
        };
        match text {
            Err(_) if fatal => Err(Exception::throw_type(&ctx, "the encoded data was not valid")),
            Ok(text) | Err(text) => {
                let decoded = Object::new(ctx.clone())?;
                decoded.put("text", text)?;
                decoded.put("used", used as f64)?;
                Ok(decoded)
            }
        }
    };
    let show = factory::function(ctx, "web", DECODER)?;
    show.call((Function::new(ctx.clone(), decode)?,))
}

/// A text, or what can be made of one that is not whole; and how many bytes were used.
type Decoded = (std::result::Result<String, String>, usize);

fn utf8(bytes: &[u8], stream: bool) -> Decoded {
    let end = match std::str::from_utf8(bytes) {
        // A letter at the end whose other bytes might still follow.
        Err(error) if stream && error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => (Ok(text.to_owned()), end),
        Err(_) => (Err(String::from_utf8_lossy(&bytes[..end]).into_owned()), end),
    }
}

fn utf16(bytes: &[u8], big: bool, stream: bool) -> Decoded {
    let unit = |pair: &[u8]| {
        let pair = [pair[0], pair[1]];
        if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    };
    let mut units: Vec<u16> = bytes.chunks_exact(2).map(unit).collect();
    let mut whole = bytes.len().is_multiple_of(2);
    let mut end = bytes.len();
    if stream {
        end -= bytes.len() % 2;
        whole = true;
        if units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
            units.pop();
            end -= 2;
        }
    }
    match String::from_utf16(&units) {
        Ok(text) if whole => (Ok(text), end),
        _ => {
            let mut text = String::from_utf16_lossy(&units);
            if !whole {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            (Err(text), end)
        }
    }
}

const CRYPTO: &str = r"(random, uuid, subtle) => {
  const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    BigInt64Array, BigUint64Array];
  return {
    getRandomValues(array) {
      if (!kinds.some((kind) => array instanceof kind)) throw new TypeError('the argument of getRandomValues is no array of integers');
      if (array.byteLength > 65536) throw new RangeError('getRandomValues fills at most 65536 bytes');
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(new Uint8Array(random(array.byteLength)));
      return array;
    },
    randomUUID: uuid,
    subtle,
  };
}";

fn crypto<'js>(ctx: &Ctx<'js>) -> Result<Value<'js>> {
    intrinsic::ensure(ctx, Needs::BINARY);
    let random = |ctx: Ctx<'js>, size: usize| {
        // The script asked for at most 64 KiB.
        let mut bytes = vec![0; size.min(1 << 16)];
        rand::rng().fill_bytes(&mut bytes);
        buffer_of(&ctx, &bytes)
    };
    let show = factory::function(ctx, "web", CRYPTO)?;
    let functions = (
        Function::new(ctx.clone(), random)?,
        Function::new(ctx.clone(), uuid)?.with_name("randomUUID")?,
        subtle::build(ctx)?,
    );
    show.call(functions)
}

/// A random UUID (RFC 9562, version 4).
fn uuid() -> String {
    let bits = rand::random::<u128>() & !(0xF << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let text = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

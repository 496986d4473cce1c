//! Bytes in JavaScript: an `ArrayBuffer`, or a view of one.

use rquickjs::{ArrayBuffer, Ctx, Result, TypedArray, Value};

use crate::runtime::intrinsic::{self, Needs};

/// Bytes as an `ArrayBuffer`, which the script need not have a word for. They are copied into the memory of the runtime,
/// so that they count as the script's.
pub fn buffer_of<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<ArrayBuffer<'js>> {
    intrinsic::ensure(ctx, Needs::BINARY);
    ArrayBuffer::new_copy(ctx.clone(), bytes)
}

/// The bytes of an `ArrayBuffer` or of a view of one.
pub fn bytes_of(value: &Value<'_>) -> Option<Vec<u8>> {
    let object = value.as_object()?;
    if let Some(buffer) = ArrayBuffer::from_object(object.clone()) {
        return copy(&buffer, 0, buffer.len());
    }
    let view = TypedArray::<u8>::from_object(object.clone());
    if view.is_err() && !object.contains_key("byteLength").ok()? {
        return None;
    }
    let buffer: Value<'_> = object.get("buffer").ok()?;
    let (offset, length) = (object.get("byteOffset").ok()?, object.get("byteLength").ok()?);
    copy(&ArrayBuffer::from_value(buffer)?, offset, length)
}

fn copy(buffer: &ArrayBuffer<'_>, offset: usize, length: usize) -> Option<Vec<u8>> {
    // SAFETY: no JavaScript runs between borrowing the bytes and copying them, so nothing can
    // detach or shrink the buffer meanwhile.
    #[allow(unsafe_code, reason = "the bytes are copied before any script can run")]
    let bytes = unsafe { buffer.as_bytes() }?;
    bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
}

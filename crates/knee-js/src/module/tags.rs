//! The tags that a script passes as an object. Does not know what they belong to.

use rquickjs::{Coerced, Result, Value};

use super::current::Room;

/// Name and value of every tag in an object, as text.
pub fn tags_of<'js>(value: Option<&Value<'js>>) -> Result<Vec<(String, String)>> {
    let Some(object) = value.and_then(Value::as_object) else { return Ok(Vec::new()) };
    let mut room = Room::of(object.ctx())?;
    let mut tags = Vec::new();
    for pair in object.props::<String, Coerced<String>>() {
        let (name, Coerced(text)) = pair?;
        room.take(object.ctx(), name.len() + text.len())?;
        tags.push((name, text));
    }
    Ok(tags)
}

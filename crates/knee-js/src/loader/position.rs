//! Maps positions in transformed code back to positions in the user's source.
//!
//! Does not transform anything. Code that was not transformed has no map; its positions are already right.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rquickjs::{Ctx, Function, JsLifetime, Result};

/// A line and a column, both from 1.
pub type Place = (u32, u32);

/// Source positions of one module's pieces, in the order of the transformed code.
#[derive(Debug, Default)]
pub struct Map {
    pieces: Box<[(Place, Place)]>,
}

impl Map {
    /// Pairs of a place in the code and the place in the source it was made of.
    pub fn new(pieces: impl IntoIterator<Item = (Place, Place)>) -> Self {
        let mut pieces: Vec<_> = pieces.into_iter().collect();
        pieces.sort_unstable();
        Self { pieces: pieces.into() }
    }

    /// Where in the source the code at `place` comes from: the nearest piece that begins at or before it on
    /// its line.
    pub fn source(&self, place: Place) -> Option<Place> {
        let after = self.pieces.partition_point(|(code, _)| *code <= place);
        let (code, source) = self.pieces.get(after.checked_sub(1)?)?;
        (code.0 == place.0).then_some(*source)
    }
}

/// The maps of all transformed modules of a program. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    by_name: Arc<RwLock<HashMap<String, Arc<Map>>>>,
}

/// Tells that a context shows places in the source.
#[derive(JsLifetime)]
struct Shown;

/// Makes `stack` of errors say what a function makes of it.
const SHOW: &str = r"(shown) => {
  const own = Object.getOwnPropertyDescriptor(Error.prototype, 'stack');
  const get = own.get;
  Object.defineProperty(Error.prototype, 'stack', {
    ...own,
    get() {
      const stack = get.call(this);
      return typeof stack === 'string' ? shown(stack) : stack;
    },
  });
}";

impl Maps {
    /// Keeps the map of a module.
    pub fn keep(&self, name: &str, map: Map) {
        // The table is whole at every moment.
        let mut by_name = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        by_name.insert(name.to_owned(), Arc::new(map));
    }

    /// From now on, errors of this context say where in the source they were made. Contexts without
    /// transformed modules do without.
    pub fn show(&self, ctx: &Ctx<'_>) -> Result<()> {
        if ctx.userdata::<Shown>().is_some() {
            return Ok(());
        }
        let maps = self.clone();
        let lines =
            move |stack: String| stack.lines().map(|line| maps.frame(line) + "\n").collect::<String>();
        ctx.eval::<Function<'_>, _>(SHOW)?.call::<_, ()>((Function::new(ctx.clone(), lines)?,))?;
        // No other code borrows the data of this context while it is loaded.
        let _ = ctx.store_userdata(Shown);
        Ok(())
    }

    /// A frame of a stack trace, `at f (file:///a.ts:3:7)` or `at file:///a.ts:3:7`, with the place in the source.
    pub fn frame(&self, frame: &str) -> String {
        self.translated(frame).unwrap_or_else(|| frame.to_owned())
    }

    fn translated(&self, frame: &str) -> Option<String> {
        let (body, close) = frame.strip_suffix(')').map_or((frame, ""), |body| (body, ")"));
        let (rest, column) = body.rsplit_once(':')?;
        let (rest, line) = rest.rsplit_once(':')?;
        let by_name = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        // Names of functions and of files can have brackets in them.
        let mut begins = rest.match_indices(['(', ' ']).map(|(at, _)| &rest[at + 1..]);
        let map = begins.find_map(|name| by_name.get(name))?;
        let (line, column) = map.source((line.parse().ok()?, column.parse().ok()?))?;
        Some(format!("{rest}:{line}:{column}{close}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_the_piece_it_lies_in() {
        let map = Map::new([((1, 1), (4, 1)), ((1, 10), (4, 20)), ((3, 2), (9, 5))]);
        assert_eq!(map.source((1, 1)), Some((4, 1)));
        assert_eq!(map.source((1, 9)), Some((4, 1)));
        assert_eq!(map.source((1, 30)), Some((4, 20)));
        assert_eq!(map.source((2, 1)), None);
        assert_eq!(map.source((3, 1)), None);
        assert_eq!(map.source((3, 7)), Some((9, 5)));
    }

    #[test]
    fn only_frames_of_transformed_modules_are_changed() {
        let maps = Maps::default();
        maps.keep("file:///a (1).ts", Map::new([((2, 1), (7, 3))]));
        maps.keep("file:///a.ts", Map::new([((2, 1), (7, 3))]));
        assert_eq!(maps.frame("at f (file:///a.ts:2:5)"), "at f (file:///a.ts:7:3)");
        assert_eq!(maps.frame("at <anonymous> (file:///a.ts:2:5)"), "at <anonymous> (file:///a.ts:7:3)");
        assert_eq!(maps.frame("at file:///a.ts:2:5"), "at file:///a.ts:7:3");
        assert_eq!(maps.frame("at f (file:///a (1).ts:2:5)"), "at f (file:///a (1).ts:7:3)");
        assert_eq!(maps.frame("at file:///a (1).ts:2:5"), "at file:///a (1).ts:7:3");
        assert_eq!(maps.frame("at f (file:///b.js:2:1)"), "at f (file:///b.js:2:1)");
        assert_eq!(maps.frame("at native"), "at native");
    }
}

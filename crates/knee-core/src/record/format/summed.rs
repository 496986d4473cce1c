//! The content of a frame that only records of one interval have: the points of a run whose intervals were summed up.
//!
//! Does not sum up and does not choose what is kept; see [`crate::record::compact`].

use serde::{Deserialize, Serialize};

use crate::record::Point;

/// Most points of a frame. A reader decodes a limited number of values at once; a point has about 60.
pub const POINTS_OF_FRAME: usize = 2_000;

/// What a sum of all intervals no longer shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summed {
    /// As in [`Run::from_warm_up`](crate::record::Run::from_warm_up).
    pub from_warm_up: u64,
    /// The next points, at most [`POINTS_OF_FRAME`].
    pub points: Vec<Point>,
}

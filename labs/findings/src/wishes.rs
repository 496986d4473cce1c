//! Wish lists, whose wishes have pictures.
//!
//! Does not use the stores, and does not parse HTTP. The picture is made once, and stays in memory.

use std::iter::repeat_with;

use serde_json::{Value, json};

use crate::defect::Defect;
use crate::shop::Shop;

/// Wishes of a list. All are for the same tea, so they have one picture.
pub const WISHES: usize = 12;
/// Characters of a picture of 72 KB in base64.
pub const PICTURE: usize = 96 << 10;
/// Where the picture is.
const ADDRESS: &str = "/pictures/7";

/// What the shop keeps for wish lists.
pub struct Wishes {
    /// The picture in base64.
    picture: String,
}

impl Default for Wishes {
    fn default() -> Self {
        // As in a file that is compressed already, no character says which one is next.
        let mut random = fastrand::Rng::with_seed(7);
        Self { picture: repeat_with(|| random.alphanumeric()).take(PICTURE).collect() }
    }
}

/// The wishes of a member. A healthy shop names the address of the picture; the defect puts the whole picture into each
/// wish.
pub fn list(shop: &Shop, member: u64) -> Value {
    let picture = if shop.has(Defect::RepeatedPicture) {
        format!("data:image/jpeg;base64,{}", shop.wishes.picture)
    } else {
        ADDRESS.to_owned()
    };
    let wish = |number: usize| json!({"wish": number, "name": "tea of the season", "picture": picture});
    json!({"member": member, "wishes": (1..=WISHES).map(wish).collect::<Value>()})
}

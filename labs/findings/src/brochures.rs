//! Brochures, which are compressed for each request because their prices change.
//!
//! Does not use the stores, and does not parse HTTP.

use std::io;

use brotli::enc::BrotliEncoderParams;
use serde_json::{Value, json};

use crate::defect::Defect;

/// Products of a brochure.
const PRODUCTS: usize = 120;
/// The quality of a healthy shop, of 0 to 11.
const QUALITY: i32 = 4;
/// Words of texts about products.
const WORDS: [&str; 12] =
    ["a", "dark", "green", "cup", "of", "tea", "from", "the", "southern", "garden", "harvested", "late"];
/// Words of each text.
const LENGTH: usize = 14;

/// The JSON of a brochure.
pub fn text(number: usize) -> String {
    let product = |place: usize| {
        let product = number * PRODUCTS + place;
        json!({"product": product, "cents": 100 + product * 7919 % 4900, "text": about(product)})
    };
    (0..PRODUCTS).map(product).collect::<Value>().to_string()
}

/// What a brochure says about a product.
fn about(product: usize) -> String {
    let word = |place: usize| WORDS.get((product * 7919 + place * place * 31) % 9973 % WORDS.len()).copied();
    (0..LENGTH).filter_map(word).collect::<Vec<_>>().join(" ")
}

/// A text, compressed with brotli. The defect leaves the quality to the encoder, whose default is the best and slowest.
///
/// # Errors
/// The encoder fails.
pub fn compressed(text: &str, defect: Defect) -> io::Result<Vec<u8>> {
    let mut settings = BrotliEncoderParams::default();
    if defect != Defect::BrotliEleven {
        settings.quality = QUALITY;
    }
    let mut body = Vec::new();
    brotli::BrotliCompress(&mut text.as_bytes(), &mut body, &settings)?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brochure_is_compressed_as_well_as_possible_only_with_the_defect() {
        assert_eq!(BrotliEncoderParams::default().quality, 11);
        let text = text(7);
        assert!((12_000..24_000).contains(&text.len()), "{} bytes", text.len());
        let mut lengths = Vec::new();
        for defect in [Defect::None, Defect::BrotliEleven] {
            let (body, mut back) = (compressed(&text, defect).unwrap(), Vec::new());
            brotli::BrotliDecompress(&mut body.as_slice(), &mut back).unwrap();
            assert_eq!(back, text.as_bytes(), "{defect:?}");
            lengths.push(body.len());
        }
        assert!(lengths[1] < lengths[0], "{lengths:?}");
    }
}

//! Ledgers of accounts, which are sent while they are made.
//!
//! Does not use the stores, and does not parse HTTP.

use std::mem;

use crate::defect::Defect;

/// Rows of a ledger.
pub const ROWS: usize = 1000;
/// Bytes that a healthy shop collects before it writes them.
const BUFFER: usize = 16 << 10;

/// What is written at a time: rows that fill a buffer, or each row by itself with the defect.
pub fn pieces(account: u64, defect: Defect) -> Vec<String> {
    let rows = (0..ROWS).map(|number| row(account, number));
    if defect == Defect::FlushPerRow {
        return rows.collect();
    }
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    for row in rows {
        piece.push_str(&row);
        if piece.len() >= BUFFER {
            pieces.push(mem::take(&mut piece));
        }
    }
    pieces.push(piece);
    pieces
}

fn row(account: u64, number: usize) -> String {
    format!("{account};{number:04};tea of the season, two boxes;{}\n", number * 7919 % 4900)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_written_row_by_row_only_with_the_defect() {
        let (healthy, defect) = (pieces(7, Defect::None), pieces(7, Defect::FlushPerRow));
        assert_eq!(healthy.concat(), defect.concat());
        assert_eq!((healthy.concat().lines().count(), defect.len()), (ROWS, ROWS));
        assert!(healthy.len() <= 4, "{}", healthy.len());
    }
}

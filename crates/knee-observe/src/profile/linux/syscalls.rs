//! System calls by what they are for.
//!
//! Pure. Numbers are those of the kernel for this architecture; a call that is not listed is `other`.

/// What a call is for, as the label of its counter.
pub(super) const KINDS: [&str; 6] = ["network", "read_write", "file", "wait", "memory", "other"];

/// Sockets: opened, accepted, sent to, received from.
#[cfg(target_arch = "x86_64")]
const NETWORK: &[i64] = &[41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 288, 299, 307];
#[cfg(not(target_arch = "x86_64"))]
const NETWORK: &[i64] =
    &[198, 199, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 242, 243, 269];

/// `read`, `write` and their kin, `sendfile` and `splice`: of sockets, pipes and files, which their numbers do not show.
#[cfg(target_arch = "x86_64")]
const READ_WRITE: &[i64] = &[0, 1, 17, 18, 19, 20, 40, 275, 295, 296, 326, 327, 328, 426];
#[cfg(not(target_arch = "x86_64"))]
const READ_WRITE: &[i64] = &[63, 64, 67, 68, 65, 66, 71, 76, 69, 70, 285, 286, 287, 426];

/// Files and folders: opened, closed, looked at, changed, flushed, locked.
#[cfg(target_arch = "x86_64")]
const FILE: &[i64] = &[
    2, 3, 4, 5, 6, 8, 21, 72, 73, 74, 75, 76, 77, 82, 87, 89, 162, 217, 221, 257, 258, 262, 263, 264, 265,
    267, 269, 277, 285, 306, 316, 332, 439,
];
#[cfg(not(target_arch = "x86_64"))]
const FILE: &[i64] = &[
    25, 32, 34, 35, 37, 38, 45, 46, 47, 48, 56, 57, 61, 62, 78, 79, 80, 81, 82, 83, 84, 223, 267, 276, 291,
    439,
];

/// Waits: for events, for locks, for a time, for other processes; and a turn that is given up.
#[cfg(target_arch = "x86_64")]
const WAIT: &[i64] =
    &[7, 23, 24, 34, 35, 61, 128, 130, 202, 208, 230, 232, 233, 247, 270, 271, 281, 441, 449];
#[cfg(not(target_arch = "x86_64"))]
const WAIT: &[i64] = &[4, 21, 22, 72, 73, 95, 98, 101, 115, 124, 133, 137, 260, 441, 449];

/// Memory: mapped, protected, given back.
#[cfg(target_arch = "x86_64")]
const MEMORY: &[i64] = &[9, 10, 11, 12, 25, 26, 27, 28, 149, 150];
#[cfg(not(target_arch = "x86_64"))]
const MEMORY: &[i64] = &[214, 215, 216, 222, 226, 227, 228, 229, 232, 233];

/// What the call of this number is for.
pub(super) fn kind(number: i64) -> &'static str {
    let lists = [NETWORK, READ_WRITE, FILE, WAIT, MEMORY];
    let place = lists.iter().position(|list| list.contains(&number));
    KINDS[place.unwrap_or(KINDS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_one_kind_and_the_common_ones_have_theirs() {
        let mut numbers = [NETWORK, READ_WRITE, FILE, WAIT, MEMORY].concat();
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all);
        // accept4, write, openat, futex, mmap, getrandom.
        let common = if cfg!(target_arch = "x86_64") {
            [288, 1, 257, 202, 9, 318]
        } else {
            [242, 64, 56, 98, 222, 278]
        };
        assert_eq!(common.map(kind), KINDS);
        assert_eq!(kind(-1), "other");
    }
}

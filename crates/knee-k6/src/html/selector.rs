//! Which selectors are evaluated at all.
//!
//! The library that evaluates selectors calls itself for each part of one, and a script can write a selector that needs
//! more stack than a VU has. Such a selector is treated as an invalid one: it finds nothing.

/// Most brackets that are open at one place.
const NESTING_MAX: usize = 16;
/// Most steps of one selector in a list: `a > b c` has three.
const STEPS_MAX: usize = 128;

/// Whether the stack of a VU suffices for a selector.
pub fn is_simple(selector: &str) -> bool {
    let (mut open, mut steps, mut in_step) = (0_usize, 0, false);
    for letter in selector.chars() {
        match letter {
            '(' | '[' => open += 1,
            ')' | ']' => open = open.saturating_sub(1),
            ',' => steps = 0,
            _ => {}
        }
        let separates = letter.is_whitespace() || matches!(letter, '>' | '+' | '~' | ',');
        if !separates && !in_step {
            steps += 1;
        }
        in_step = !separates;
        if open > NESTING_MAX || steps > STEPS_MAX {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_selector_beyond_all_use_is_refused() {
        assert!(is_simple("main > ul.list li:nth-child(2n + 1):not([data-x='(']) ~ a, b"));
        assert!(is_simple(&vec!["a"; 100_000].join(", ")));
        assert!(!is_simple(&vec!["a"; 1_000].join(" > ")));
        assert!(!is_simple(&vec!["a"; 1_000].join("+")));
        assert!(!is_simple(&(":not(".repeat(100) + "a" + &")".repeat(100))));
    }
}

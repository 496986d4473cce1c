//! A bounded sample of the messages of a fault.

/// Most example messages kept per fault.
pub const EXAMPLES_MAX: usize = 3;

/// Keeps `example` if it is new and there is room.
pub(super) fn keep(examples: &mut Vec<String>, example: Option<&str>) {
    if let Some(example) = example
        && examples.len() < EXAMPLES_MAX
        && !examples.iter().any(|known| known == example)
    {
        examples.push(example.to_owned());
    }
}

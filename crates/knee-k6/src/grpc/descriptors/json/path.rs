//! Paths of `google.protobuf.FieldMask`: `snake_case` in messages, `lowerCamelCase` in JSON.

/// Whether a path has only identifiers, with dots between them.
pub fn is_valid(path: &str) -> bool {
    path.split('.').all(|name| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}

/// The path in JSON.
pub fn to_camel(path: &str) -> String {
    let mut follows_line = false;
    let mut camel = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            '_' => {}
            letter if follows_line => camel.push(letter.to_ascii_uppercase()),
            letter => camel.push(letter),
        }
        follows_line = letter == '_';
    }
    camel
}

/// The path in a message.
pub fn to_snake(path: &str) -> String {
    let mut snake = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_changes_its_case_and_back() {
        for (snake, camel) in [("a", "a"), ("foo_bar.baz_q", "fooBar.bazQ"), ("_x", "X")] {
            assert_eq!(to_camel(snake), camel);
            assert_eq!(to_snake(camel), snake);
        }
    }

    #[test]
    fn a_path_has_identifiers() {
        assert!(is_valid("a.b_1"));
        for path in ["", ".", "a.", "1a", "a-b", "a b", "ä"] {
            assert!(!is_valid(path), "{path}");
        }
    }
}

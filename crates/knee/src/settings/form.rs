//! Multipart forms from `-F`, as curl and oha write them.
//!
//! Does not send. The boundary depends on the content alone: the same form gives the same bytes.

use std::path::Path;

use super::file::read_file;
use crate::problem::Problem;

/// One field, read.
struct Field {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    content: Vec<u8>,
}

/// A form's body and the value of its `content-type`.
///
/// # Errors
///
/// When a field is malformed or a file it names cannot be read.
pub fn form(texts: &[String]) -> Result<(Vec<u8>, String), Problem> {
    let fields = texts.iter().map(|text| field(text)).collect::<Result<Vec<_>, _>>()?;
    let boundary = boundary(&fields);
    let mut body = Vec::new();
    for field in &fields {
        body.extend(
            format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{}\"", quoted(&field.name))
                .bytes(),
        );
        if let Some(filename) = &field.filename {
            body.extend(format!("; filename=\"{}\"", quoted(filename)).bytes());
        }
        if let Some(content_type) = &field.content_type {
            body.extend(format!("\r\ncontent-type: {content_type}").bytes());
        }
        body.extend(b"\r\n\r\n");
        body.extend(&field.content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    Ok((body, format!("multipart/form-data; boundary={boundary}")))
}

/// Reads `name=value`, `name=@file` (an upload) and `name=<file` (its text). The latter two can end in `;type=` and
/// `;filename=`.
fn field(text: &str) -> Result<Field, Problem> {
    let malformed = |text: &str| {
        Problem::new(
            format!("`-F {text}` is not a form field"),
            "write it as `name=value`, `name=@file` or `name=@file;type=text/csv;filename=a.csv`",
        )
    };
    let (name, value) =
        text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| malformed(text))?;
    let name = name.to_owned();
    let upload = value.starts_with('@');
    let Some(rest) = value.strip_prefix(['@', '<']) else {
        return Ok(Field { name, filename: None, content_type: None, content: value.as_bytes().to_vec() });
    };
    let mut parts = rest.split(';');
    let path = Path::new(parts.next().unwrap_or_default());
    let basename = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut field = Field {
        name,
        filename: basename.filter(|_| upload),
        content_type: upload.then(|| "application/octet-stream".to_owned()),
        content: read_file("-F", path)?,
    };
    for part in parts {
        match part.trim().split_once('=') {
            Some(("type", value)) if !value.chars().any(char::is_control) => {
                field.content_type = Some(value.to_owned());
            }
            Some(("filename", value)) => field.filename = Some(value.trim_matches('"').to_owned()),
            _ => return Err(malformed(text)),
        }
    }
    Ok(field)
}

/// A boundary that occurs in none of the contents.
fn boundary(fields: &[Field]) -> String {
    let occurs = |candidate: &str| {
        let needle = candidate.as_bytes();
        fields.iter().any(|field| field.content.windows(needle.len()).any(|window| window == needle))
    };
    let mut number = 0u64;
    loop {
        let candidate = format!("----knee-form-{number:016}");
        if !occurs(&candidate) {
            return candidate;
        }
        number += 1;
    }
}

/// A name within quotes, escaped as browsers do (HTML standard, multipart/form-data encoding).
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_uploads_become_parts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        std::fs::write(&file, "1,2").unwrap();
        let upload = format!("data=@{};type=text/csv", file.display());
        let (body, content_type) = form(&["who=a\"b".to_owned(), upload]).unwrap();
        assert_eq!(content_type, "multipart/form-data; boundary=----knee-form-0000000000000000");
        let expected = "------knee-form-0000000000000000\r\n\
            content-disposition: form-data; name=\"who\"\r\n\r\na\"b\r\n\
            ------knee-form-0000000000000000\r\n\
            content-disposition: form-data; name=\"data\"; filename=\"a.csv\"\r\ncontent-type: text/csv\r\n\r\n\
            1,2\r\n------knee-form-0000000000000000--\r\n";
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn a_boundary_never_occurs_in_the_content() {
        let (_, content_type) = form(&["a=----knee-form-0000000000000000".to_owned()]).unwrap();
        assert!(content_type.ends_with("form-0000000000000001"));
    }

    #[test]
    fn what_is_no_field_is_refused() {
        for text in ["", "a", "=b", "a=@/nowhere", "a=@Cargo.toml;size=3"] {
            assert!(form(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}

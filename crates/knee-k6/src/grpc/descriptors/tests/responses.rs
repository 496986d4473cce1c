//! Responses as scripts see them.

use super::*;

#[test]
fn fields_without_a_value_are_there() {
    let watch = method("/knee.test.Echo/Watch");
    assert_eq!(
        watch.decode(b"", usize::MAX).unwrap(),
        concat!(
            r#"{"aBool":false,"anInt32":0,"aSint32":0,"aSfixed32":0,"aUint32":0,"aFixed32":0,"anInt64":"0","#,
            r#""aSint64":"0","aSfixed64":"0","aUint64":"0","aFixed64":"0","aFloat":0.0,"aDouble":0.0,"#,
            r#""aString":"","someBytes":"","aColour":"COLOUR_NONE","other-name":""}"#
        )
    );
    assert_eq!(watch.empty().unwrap(), watch.decode(b"", usize::MAX).unwrap());
}

#[test]
fn messages_are_null_and_members_of_a_oneof_are_absent() {
    let response = json(&kinds().empty().unwrap());
    for name in ["scalars", "child", "timestamp", "any", "boolValue", "value", "empty", "nullValue"] {
        assert!(response[name].is_null() && response.as_object().unwrap().contains_key(name), "{name}");
    }
    for name in ["children", "ints", "anys"] {
        assert_eq!(response[name], Value::Array(Vec::new()), "{name}");
    }
    assert_eq!(response["textByText"], Value::Object(serde_json::Map::new()));
    for name in ["maybeInt", "maybeText", "maybeColour", "chosenNumber", "chosenNull"] {
        assert!(!response.as_object().unwrap().contains_key(name), "{name}");
    }
}

#[test]
fn scalars_of_the_older_syntax_are_null() {
    let find = method("/knee.test.older.Archive/Find");
    assert_eq!(
        find.decode(&[0x08, 0x05], usize::MAX).unwrap(),
        concat!(
            r#"{"id":5,"count":null,"size":null,"numbers":[],"packed":[],"inner":null,"pair":null,"#,
            r#""innerByName":{}}"#
        )
    );
}

#[test]
fn a_required_field_that_the_server_left_out_is_an_error_of_the_bytes() {
    let find = method("/knee.test.older.Archive/Find");
    let words = "proto: required field knee.test.older.Older.id not set".to_owned();
    assert_eq!(find.decode(b"", usize::MAX), Err(DecodeError::Bytes(words.clone())));
    assert_eq!(find.empty().unwrap_err().to_string(), words);
}

#[test]
fn a_value_without_a_kind_has_no_json() {
    let value = method("/knee.test.Echo/Value");
    let error = value.decode(b"", usize::MAX).unwrap_err();
    assert!(matches!(error, DecodeError::Json(_)));
    assert_eq!(error.to_string(), "proto: google.protobuf.Value: none of the oneof fields is set");
    assert_eq!(value.empty().unwrap_err().to_string(), error.to_string());
    assert!(value.decode(&[0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f], usize::MAX).is_err(), "infinity");
}

#[test]
fn what_has_no_text_is_an_error() {
    let cases: [(&[u8], &str); 5] = [
        // A timestamp of 1 s before the year 1.
        (
            &[0x92, 0x03, 0x0b, 0x08, 0xff, 0x91, 0xb8, 0xc3, 0x98, 0xfe, 0xff, 0xff, 0xff, 0x01],
            "seconds out of range",
        ),
        // A timestamp of 2,000,000,000 ns, and a duration of 1 s and -1 ns.
        (&[0x92, 0x03, 0x06, 0x10, 0x80, 0xa8, 0xd6, 0xb9, 0x07], "nanos out of range"),
        (
            &[0x9a, 0x03, 0x0d, 0x08, 1, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            "signs of seconds and nanos do not match",
        ),
        // Masks with the paths `aB` and `a__b`.
        (&[0xa2, 0x03, 0x04, 0x0a, 0x02, b'a', b'B'], "irreversible value"),
        (&[0xa2, 0x03, 0x06, 0x0a, 0x04, b'a', b'_', b'_', b'b'], "irreversible value"),
    ];
    for (bytes, words) in cases {
        let error = kinds().decode(bytes, usize::MAX).unwrap_err();
        assert!(matches!(error, DecodeError::Json(_)) && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn an_unknown_type_in_any_has_no_json() {
    let bytes = kinds().encode(br#"{"any":{"@type":"/knee.test.Scalars"}}"#).unwrap();
    let position = bytes.len() - 1;
    let mut other = bytes.clone();
    other[position] = b'z';
    let error = kinds().decode(&other, usize::MAX).unwrap_err().to_string();
    assert!(error.starts_with("proto: google.protobuf.Any: unable to resolve"), "{error}");
}

#[test]
fn letters_are_escaped_where_json_needs_it() {
    let request = r#"{"texts":["\"\\\u0000\n\u001f\u007fäß€😀\u2028"]}"#;
    assert_eq!(echo(&kinds(), request), json(request));
}

#[test]
fn unknown_fields_are_left_out() {
    let watch = method("/knee.test.Echo/Watch");
    assert_eq!(watch.decode(&[0xf8, 0x07, 0x01], usize::MAX).unwrap(), watch.empty().unwrap());
}

#[test]
fn a_field_that_arrives_twice_has_its_last_value_and_messages_merge() {
    let bytes = [
        // Field 1, a message, with an_int32 = 1; then with a_uint32 = 2.
        0x0a, 0x02, 0x10, 0x01, 0x0a, 0x02, 0x28, 0x02, // maybe_int = 3, then 4.
        0x50, 0x03, 0x50, 0x04,
    ];
    let response = json(&kinds().decode(&bytes, usize::MAX).unwrap());
    assert_eq!((&response["scalars"]["anInt32"], &response["scalars"]["aUint32"]), (&1.into(), &2.into()));
    assert_eq!(response["maybeInt"], 4);
}

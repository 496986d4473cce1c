//! Requests as scripts write them, and what is wrong with them.

use serde_json::json;

use super::*;

fn scalars(request: &str) -> Value {
    let wrapped = format!(r#"{{"scalars":{request}}}"#);
    let defaults = kinds().decode(&kinds().encode(br#"{"scalars":{}}"#).unwrap(), usize::MAX).unwrap();
    let defaults = json(&defaults)["scalars"].clone();
    let mut response = echo(&kinds(), &wrapped)["scalars"].take();
    response.as_object_mut().unwrap().retain(|name, value| defaults[name] != *value);
    response
}

#[test]
fn fields_have_their_name_of_json_or_of_the_source() {
    assert_eq!(scalars(r#"{"aString":"a"}"#), json!({"aString": "a"}));
    assert_eq!(scalars(r#"{"a_string":"a"}"#), json!({"aString": "a"}));
    assert_eq!(scalars(r#"{"other-name":"a"}"#), json!({"other-name": "a"}));
    assert_eq!(scalars(r#"{"renamed":"a"}"#), json!({"other-name": "a"}));
}

#[test]
fn an_unknown_field_is_an_error_with_its_place() {
    assert_eq!(refusal(&kinds(), r#"{"x":1}"#), "proto: (line 1:2): unknown field \"x\"");
    assert_eq!(refusal(&kinds(), "{\"scalars\":\n  {\"y\":1}}"), "proto: (line 2:4): unknown field \"y\"");
}

#[test]
fn integers_are_numbers_or_texts() {
    assert_eq!(scalars(r#"{"anInt32":"-7","aUint32":1e3}"#), json!({"anInt32": -7, "aUint32": 1000}));
    assert_eq!(scalars(r#"{"anInt64":9007199254740993}"#), json!({"anInt64": "9007199254740993"}));
    assert_eq!(scalars(r#"{"aUint64":"18446744073709551615"}"#), json!({"aUint64": "18446744073709551615"}));
    for (field, value) in [
        ("anInt32", "2147483648"),
        ("anInt32", "1.5"),
        ("aUint32", "-1"),
        ("anInt64", "\" 1\""),
        ("aUint64", "18446744073709551616"),
        ("aSint32", "true"),
        ("aFixed64", "\"\""),
    ] {
        let error = refusal(&method("/knee.test.Echo/Watch"), &format!(r#"{{"{field}":{value}}}"#));
        assert!(error.contains("invalid value for") && error.ends_with(value), "{error}");
    }
}

#[test]
fn the_error_of_a_value_names_kind_and_field() {
    assert_eq!(
        refusal(&method("/knee.test.Echo/Watch"), r#"{"an_int32":"x"}"#),
        "proto: (line 1:13): invalid value for int32 field anInt32: \"x\""
    );
}

#[test]
fn fractions_can_be_texts_and_infinite() {
    let method = method("/knee.test.Echo/Watch");
    let echoed = |request: &str| echo(&method, request);
    assert_eq!(echoed(r#"{"aDouble":"1.5","aFloat":0.1}"#)["aDouble"], json!(1.5));
    assert_eq!(echoed(r#"{"aFloat":0.1}"#)["aFloat"], json!(0.1));
    for text in ["NaN", "Infinity", "-Infinity"] {
        let both = echoed(&format!(r#"{{"aDouble":"{text}","aFloat":"{text}"}}"#));
        assert_eq!((&both["aDouble"], &both["aFloat"]), (&json!(text), &json!(text)));
    }
    for value in ["1e39", "\"inf\"", "\"nan\"", "null1"] {
        assert!(method.encode(format!(r#"{{"aFloat":{value}}}"#).as_bytes()).is_err(), "{value}");
    }
}

#[test]
fn bytes_are_base64_of_either_alphabet() {
    for text in ["-_8=", "+/8=", "-_8", "+/8"] {
        assert_eq!(scalars(&format!(r#"{{"someBytes":"{text}"}}"#)), json!({"someBytes": "+/8="}), "{text}");
    }
    for text in ["-/8=", "+/8==", "!", "A"] {
        let request = format!(r#"{{"someBytes":"{text}"}}"#);
        assert!(method("/knee.test.Echo/Watch").encode(request.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn enums_are_names_or_numbers() {
    assert_eq!(scalars(r#"{"aColour":"BLUE"}"#), json!({"aColour": "BLUE"}));
    assert_eq!(scalars(r#"{"aColour":-5}"#), json!({"aColour": "BLUE"}));
    assert_eq!(scalars(r#"{"aColour":"SCARLET"}"#), json!({"aColour": "RED"}), "the first name of a number");
    assert_eq!(scalars(r#"{"aColour":99}"#), json!({"aColour": 99}));
    let error = refusal(&method("/knee.test.Echo/Watch"), r#"{"aColour":"blue"}"#);
    assert!(error.ends_with("invalid value for enum field aColour: \"blue\""), "{error}");
}

#[test]
fn null_is_an_absent_field() {
    let request = r#"{"scalars":null,"ints":null,"textByText":null,"chosenText":null,"timestamp":null,"maybeInt":null}"#;
    assert_eq!(kinds().encode(request.as_bytes()).unwrap(), b"");
}

#[test]
fn null_is_a_value_where_the_type_has_it() {
    assert_eq!(kinds().encode(br#"{"value":null}"#).unwrap(), [0xb2, 0x03, 0x02, 0x08, 0x00]);
    assert_eq!(echo(&kinds(), r#"{"values":[null,1]}"#)["values"], json!([null, 1.0]));
    let bytes = kinds().encode(br#"{"chosenNull":null}"#).unwrap();
    assert!(kinds().decode(&bytes, usize::MAX).unwrap().contains(r#""chosenNull":null"#));
    assert!(kinds().encode(br#"{"ints":[null]}"#).is_err());
    assert!(kinds().encode(br#"{"children":[null]}"#).is_err());
    assert!(kinds().encode(br#"{"textByText":{"a":null}}"#).is_err());
}

#[test]
fn a_oneof_takes_one_member() {
    assert_eq!(echo(&kinds(), r#"{"chosenNumber":5,"chosenText":null}"#)["chosenNumber"], json!("5"));
    assert_eq!(
        refusal(&kinds(), r#"{"chosenNumber":5,"chosenText":"a"}"#),
        "proto: (line 1:19): error parsing \"chosenText\", oneof knee.test.Kinds.choice is already set"
    );
}

#[test]
fn a_field_can_be_given_once() {
    assert_eq!(
        refusal(&kinds(), r#"{"maybeInt":5,"maybe_int":6}"#),
        "proto: (line 1:15): duplicate field \"maybe_int\""
    );
    assert_eq!(
        refusal(&kinds(), r#"{"textByText":{"a":"1","a":"2"}}"#),
        "proto: (line 1:24): duplicate map key \"a\""
    );
}

#[test]
fn maps_have_keys_of_their_type() {
    let request = json!({
        "textByText": {"": "b"},
        "colourByBool": {"true": "RED"},
        "doubleByUint64": {"18446744073709551615": 0.5},
        "bytesBySint64": {"-1": "AA=="},
        "valueByFixed32": {"7": [1.0, {"a": null}]},
    });
    assert_eq!(echo(&kinds(), &request.to_string()), request);
    assert_eq!(
        refusal(&kinds(), r#"{"colourByBool":{"1":"RED"}}"#),
        "proto: (line 1:18): invalid value for bool key: \"1\""
    );
    assert!(kinds().encode(br#"{"doubleByUint64":{"-1":1}}"#).is_err());
}

#[test]
fn well_known_messages_have_json_of_their_own() {
    let request = json!({
        "timestamp": "2026-01-31T12:00:00.500Z",
        "duration": "-1.500s",
        "mask": "a,fooBar.baz",
        "structure": {"a": [1.0, "b", {"c": true}], "d": null},
        "value": {"x": []},
        "list": [null, [], "z"],
        "boolValue": true, "int32Value": -1, "int64Value": "-2", "uint32Value": 3, "uint64Value": "4",
        "floatValue": 0.5, "doubleValue": "NaN", "stringValue": "s", "bytesValue": "AA==",
        "timestamps": ["1970-01-01T00:00:00Z"],
    });
    assert_eq!(echo(&kinds(), &request.to_string()), request);
    assert_eq!(
        echo(&kinds(), r#"{"timestamp":"2026-01-31T13:00:00+01:00"}"#)["timestamp"],
        "2026-01-31T12:00:00Z"
    );
    for (field, value) in [
        ("timestamp", "\"0000-01-01T00:00:00Z\""),
        ("timestamp", "5"),
        ("duration", "\"315576000001s\""),
        ("duration", "\"5\""),
        ("mask", "\"foo_bar\""),
        ("structure", "[]"),
        ("list", "{}"),
        ("empty", r#"{"a":1}"#),
        ("int32Value", "{\"value\":1}"),
    ] {
        assert!(kinds().encode(format!(r#"{{"{field}":{value}}}"#).as_bytes()).is_err(), "{field} {value}");
    }
}

#[test]
fn any_has_the_type_beside_the_fields() {
    let any = r#"{"any":{"aBool":true,"@type":"type.googleapis.com/knee.test.Scalars"}}"#;
    let response = echo(&kinds(), any)["any"].take();
    assert_eq!(response["@type"], "type.googleapis.com/knee.test.Scalars");
    assert_eq!((&response["aBool"], &response["anInt64"]), (&json!(true), &json!("0")));
    let wrapped = json!({"@type": "x/google.protobuf.Duration", "value": "1s"});
    assert_eq!(echo(&kinds(), &json!({"any": wrapped}).to_string())["any"], wrapped);
    let older = json!({"@type": "/knee.test.older.Inner", "name": "from another load"});
    assert_eq!(echo(&kinds(), &json!({"any": older}).to_string())["any"]["name"], "from another load");
}

#[test]
fn any_needs_a_known_type() {
    let cases = [
        (r#"{"any":{"@type":"a/b.C"}}"#, r#"proto: (line 1:17): unable to resolve "a/b.C": "not found""#),
        (r#"{"any":{"a":1}}"#, r#"proto: (line 1:8): missing "@type" field"#),
        (r#"{"any":{"@type":1}}"#, "proto: (line 1:17): @type field value is not a string: 1"),
        (r#"{"any":{"@type":"/google.protobuf.Duration"}}"#, r#"proto: (line 1:44): missing "value" field"#),
    ];
    for (request, error) in cases {
        assert_eq!(refusal(&kinds(), request), error);
    }
    assert_eq!(kinds().encode(br#"{"any":{}}"#).unwrap(), [0xc2, 0x03, 0x00]);
    assert!(kinds().encode(br#"{"any":{"@type":"/google.protobuf.Empty"}}"#).is_ok());
}

#[test]
fn required_fields_are_required_except_in_any() {
    let find = method("/knee.test.older.Archive/Find");
    assert_eq!(refusal(&find, "{}"), "proto: required field knee.test.older.Older.id not set");
    let nested = r#"{"id":1,"innerByName":{"a":{}}}"#;
    assert_eq!(refusal(&find, nested), "proto: required field knee.test.older.Inner.name not set");
    assert!(find.encode(br#"{"id":0}"#).is_ok());
    assert!(kinds().encode(br#"{"any":{"@type":"/knee.test.older.Inner"}}"#).is_ok());
}

#[test]
fn groups_and_extensions_are_fields() {
    let find = method("/knee.test.older.Archive/Find");
    let request = json!({"id": 1, "pair": {"left": "a", "right": ["1"]}, "[knee.test.older.note]": "n"});
    assert_eq!(echo(&find, &request.to_string()), request);
    assert_eq!(echo(&find, r#"{"id":1,"Pair":{"left":"a"}}"#)["pair"]["left"], "a");
    assert!(find.encode(br#"{"id":1,"[knee.test.older.other]":"n"}"#).is_err());
}

#[test]
fn a_text_that_is_not_one_object_is_refused() {
    let cases = [
        ("", "proto: unexpected EOF"),
        ("{", "proto: unexpected EOF"),
        ("[]", "proto: syntax error (line 1:1): unexpected token ["),
        ("null", "proto: syntax error (line 1:1): unexpected token null"),
        ("{} {}", "proto: syntax error (line 1:4): unexpected token {"),
        (r#"{"ints":[1,]}"#, "proto: syntax error (line 1:12): unexpected token ]"),
        (r#"{"ints":[1}"#, "proto: syntax error (line 1:11): unexpected token }"),
        (r#"{"ints":[,1]}"#, "proto: syntax error (line 1:10): unexpected token ,"),
        (r#"{"ints":[01]}"#, "proto: syntax error (line 1:10): invalid value 01"),
        (
            r#"{"ints" [1]}"#,
            "proto: syntax error (line 1:9): unexpected character [, missing \":\" after field name",
        ),
        (r"{ints:1}", "proto: syntax error (line 1:2): invalid value ints"),
    ];
    for (request, error) in cases {
        assert_eq!(refusal(&kinds(), request), error, "{request}");
    }
    assert!(kinds().encode(b"{\"texts\":[\"\xff\"]}").is_err());
    assert!(kinds().encode(br#"{"texts":["\ud800"]}"#).is_err());
    assert!(kinds().encode(b"{\"texts\":[\"\n\"]}").is_err());
}

//! Errors of calls, as scripts see them.

use prost::Message as _;
use serde_json::json;

use super::*;

#[test]
fn an_error_has_code_message_and_no_details() {
    let status = RpcStatus::received(5, "no \"such\" thing", None);
    assert_eq!(
        json(&status.json(&SCHEMA)),
        json!({"code": 5, "message": "no \"such\" thing", "details": []})
    );
}

#[test]
fn details_of_known_types_are_messages() {
    let bytes = kinds().encode(br#"{"any":{"@type":"t/knee.test.older.Inner","name":"n"}}"#).unwrap();
    let mut status = RpcStatus::new(3, "bad");
    status.details = vec![prost_reflect::prost_types::Any::decode(&bytes[3..]).unwrap()];
    let received = RpcStatus::received(3, "ignored", Some(&status.encode_to_vec()));
    assert_eq!(
        json(&received.json(&SCHEMA)),
        json!({
            "code": 3,
            "message": "bad",
            "details": [{"@type": "t/knee.test.older.Inner", "name": "n", "next": null}],
        })
    );
    assert_eq!(
        json(&received.json(&Schema::default()))["details"],
        json!([{"@type": "t/knee.test.older.Inner", "value": "CgFu"}]),
        "without the type, its bytes"
    );
}

#[test]
fn details_that_contradict_the_code_are_an_internal_error() {
    let other = RpcStatus::new(7, "denied").encode_to_vec();
    let status = RpcStatus::received(5, "missing", Some(&other));
    assert_eq!((status.code, status.details.len()), (13, 0));
    assert!(
        status.message.starts_with("grpc-status-details-bin mismatch: grpc-status=5"),
        "{}",
        status.message
    );
}

#[test]
fn unreadable_details_are_ignored() {
    assert_eq!(RpcStatus::received(5, "missing", Some(b"\xff")), RpcStatus::new(5, "missing"));
}

//! Texts that the server answers.

use serde_json::{Value, json};

/// What clients of most services look for in an answer: tokens, numbers, lists.
pub fn anything() -> Value {
    let item =
        |id: u8| json!({ "id": id, "name": format!("Item {id}"), "status": "active", "price": 10 * id });
    let (items, token) = (json!([item(1), item(2), item(3)]), "e30.eyJzdWIiOiJ1c2VyIn0.c2ln");
    json!({
        "id": 1, "uuid": "3f0c1a52-7d5e-4b1c-9a63-0c2f5be1d001", "name": "Item 1", "title": "Title 1",
        "status": "ok", "success": true, "message": "done", "error": null, "result": "ok", "count": 3, "total": 3,
        "token": token, "access": token, "access_token": token, "accessToken": token, "refresh_token": token,
        "expires_in": 3600, "user": { "id": 1, "username": "user", "email": "user@example.com" },
        "username": "user", "email": "user@example.com",
        "data": { "id": 1, "token": token, "status": "ok", "items": items }, "items": items, "results": items,
    })
}

/// The front page.
pub const INDEX: &str =
    "<!DOCTYPE html><html><head><title>compat</title></head><body><p>A server for tests.</p></body></html>\n";

/// A document with every kind of value in it.
pub const JSON: &str = r#"{
  "title": "a \"quoted\" text",
  "count": 3,
  "ratio": 0.25,
  "big": 1e21,
  "yes": true,
  "nothing": null,
  "dotted.name": "dots",
  "slides": [
    { "title": "one", "tags": ["a", "b"], "price": 5 },
    { "title": "two", "tags": [], "price": 15 },
    { "title": "three", "tags": ["c"], "price": 25, "deep": { "er": [[1, 2], [3, 4]] } }
  ]
}
"#;

/// A document in XML.
pub const XML: &str = "<?xml version='1.0' encoding='utf-8'?>\n<slides title=\"t\"><slide type=\"all\"><item>One</item></slide></slides>\n";

/// A page to select from.
pub const HTML: &str = r#"<!DOCTYPE html>
<html lang="en">
<head><title>A page</title><meta name="csrf" content="token-123"></head>
<body id="top" class="main wide">
<h1>Title &amp; more</h1>
<ul id="list" data-kind="fruit" data-json='{"a":1}' data-count="3">
  <li class="item first" value="1">apple</li>
  <li class="item" value="2">pear <b>ripe</b></li>
  <li class="item last" value="3">plum</li>
</ul>
<p class="text">first paragraph</p>
<p class="text second">second <i>paragraph</i></p>
<div id="outer"><div id="inner"><span>deep</span></div></div>
<a href="/get?from=link" id="link">a link</a>
<a href="/anything/second" class="other">another</a>
<form id="login" action="/post" method="post">
  <input type="hidden" name="csrf" value="token-123">
  <input type="text" name="user" value="nobody">
  <input type="password" name="word">
  <input type="checkbox" name="stay" value="yes" checked>
  <input type="checkbox" name="news" value="yes">
  <input type="radio" name="size" value="s">
  <input type="radio" name="size" value="m" checked>
  <select name="colour"><option value="r">red</option><option value="g" selected>green</option></select>
  <select name="many" multiple><option value="1" selected>1</option><option value="2" selected>2</option></select>
  <textarea name="note">a note</textarea>
  <input type="text" name="off" value="x" disabled>
  <input type="submit" name="go" value="Go">
  <button type="submit" name="other" value="Other">Other</button>
</form>
<form id="search" action="/get" method="get"><input name="q" value="knee"></form>
</body>
</html>
"#;

/// A form, as httpbin has one.
pub const FORM: &str = r#"<!DOCTYPE html>
<html>
<body>
<form method="post" action="/post">
 <p><label>Customer name: <input name="custname"></label></p>
 <p><label>Telephone: <input type="tel" name="custtel"></label></p>
 <fieldset>
  <p><label> <input type="radio" name="size" value="small"> Small </label></p>
  <p><label> <input type="radio" name="size" value="large"> Large </label></p>
 </fieldset>
 <p><label>Instructions: <textarea name="comments"></textarea></label></p>
 <p><button>Submit order</button></p>
</form>
</body>
</html>
"#;

/// A page with links.
pub const LINKS: &str = r##"<html><head><title>Links</title></head><body>
<a href="/get?n=1">one</a> <a class="second" href="anything/relative">two</a> <a href="#here">three</a>
</body></html>
"##;

//! Selections of a page, as k6 1.8.1 makes them.

use super::form::FieldValue;
use super::*;

const PAGE: &str = r#"<!DOCTYPE html><title>T</title><ul id=u><li class=a>1<li>2 &amp; "q"<li class=a>3</ul>
<form action="/go?x=1" method=post><input name=t value=1><input type=checkbox name=c checked=checked>
<input type=checkbox name=d><select name=s multiple><option selected>x<option selected value=y>Y</select>
<textarea name=z>it's</textarea><input type=submit name=go value=Go></form><br>"#;

fn page() -> Selection {
    Selection::parse(PAGE, "http://h/")
}

fn find(selector: &str) -> Selection {
    page().find(&Target::of_selector(selector))
}

#[test]
fn html_is_written_as_k6_writes_it() {
    assert_eq!(find("li:nth-child(2)").html().unwrap(), "2 &amp; &#34;q&#34;");
    assert!(find("body").html().unwrap().ends_with("</form><br/>"));
    assert!(
        page()
            .html()
            .unwrap()
            .starts_with("<!DOCTYPE html><html><head><title>T</title></head><body><ul id=\"u\">")
    );
    assert_eq!(find("textarea").value(), Some(FieldValue::Text("it&#39;s".into())));
}

#[test]
fn ways_lead_from_every_node_and_find_each_once() {
    let second = find("li").at(1);
    assert_eq!(second.walk(Walk::Siblings, None).text(), "13");
    assert_eq!(second.walk(Walk::NextAll, Some(&Target::of_selector(".a"))).text(), "3");
    assert_eq!(find("li").walk(Walk::Parent, None).len(), 1);
    assert_eq!(find("option").walk(Walk::Parents, None).len(), 4);
    let until = Target::of_selector("form");
    assert_eq!(find("option").walk_until(Walk::Parents, Some(&until), None).len(), 1);
    assert_eq!(find("li").at(-1).end().len(), 3);
    assert_eq!(find("li").at(7).len(), 0);
    assert_eq!(page().end().len(), 0);
}

#[test]
fn a_selector_that_makes_no_sense_finds_nothing() {
    assert!(find("li:[").is_empty());
    assert_eq!(find("li").filter(&Target::of_selector("li:["), false).len(), 3);
}

#[test]
fn a_form_is_sent_without_buttons_and_what_is_not_ticked() {
    let page = page();
    let form = page.find(&Target::of_selector("form"));
    let names: Vec<String> = form.fields().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["t", "c", "s", "z"]);
    assert_eq!(form.serialize(), "c=on&s=x&s=y&t=1&z=it%26%2339%3Bs");
    assert!(page.find(&Target::of_selector("option")).form().is_same(&form));
}

#[test]
fn a_page_without_end_is_read_on_a_small_stack() {
    let run = || {
        let deep = "<b>".repeat(20_000) + "x";
        let page = Selection::parse(&deep, "");
        assert_eq!(page.text(), "x");
        assert!(page.html().unwrap().len() > 20_000);
        assert_eq!(page.find(&Target::of_selector("b")).len(), 20_000);
    };
    std::thread::Builder::new().stack_size(120 << 10).spawn(run).unwrap().join().unwrap();
}

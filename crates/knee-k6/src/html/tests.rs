//! Selections of a page, as k6 1.8.1 makes them.

use super::form::FieldValue;
use super::*;
use crate::account::Account;

const PAGE: &str = r#"<!DOCTYPE html><title>T</title><ul id=u><li class=a>1<li>2 &amp; "q"<li class=a>3</ul>
<form action="/go?x=1" method=post><input name=t value=1><input type=checkbox name=c checked=checked>
<input type=checkbox name=d><select name=s multiple><option selected>x<option selected value=y>Y</select>
<textarea name=z>it's</textarea><input type=submit name=go value=Go></form><br>"#;

fn page() -> Selection {
    Selection::parse(PAGE, "http://h/", &Bounds::default()).unwrap()
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

fn read(html: &str) -> Result<Selection, PageError> {
    Selection::parse(html, "", &Bounds::default())
}

#[test]
fn the_deepest_page_that_k6_reads_is_read_on_a_small_stack() {
    let run = || {
        // `html` and `body` are open around it.
        let deep = "<b>".repeat(OPEN_MAX - 2) + "x";
        let page = read(&deep).unwrap();
        assert_eq!(page.text(), "x");
        assert!(page.html().unwrap().len() > 3_000);
        assert_eq!(page.find(&Target::of_selector("b")).len(), OPEN_MAX - 2);
    };
    std::thread::Builder::new().stack_size(120 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_page_that_is_nested_deeper_is_refused_in_k6s_words() {
    for tag in ["<div>", "<b>", "<table><tr><td>", "<template>", "<svg><g>", "<ul><li>"] {
        let error = read(&tag.repeat(100_000)).err().unwrap();
        assert_eq!(error.to_string(), "html: open stack of elements exceeds 512 nodes", "{tag}");
    }
    assert!(read(&"<div>".repeat(510)).is_ok());
    assert_eq!(read(&"<div>".repeat(511)).err(), Some(PageError::TooDeep));
    assert!(read(&"<div></div>".repeat(100_000)).is_ok());
}

#[test]
fn a_page_in_pieces_is_the_same_page() {
    let filler = "é".repeat(200);
    let html = format!("{PAGE}<p title='{filler}'>{filler}&amp;{filler}<!-- {filler} --></p>");
    let whole = Document::from(html.as_str());
    let page = read(&html).unwrap();
    assert_eq!(page.page.document.html(), whole.html());
}

#[test]
fn a_tag_with_endless_attributes_is_refused() {
    let attributes: Vec<String> = (0..200_000).map(|number| format!("a{number}=1")).collect();
    let page = format!("<p {}>", attributes.join(" "));
    assert_eq!(read(&page).err(), Some(PageError::Attributes));
}

#[test]
fn pages_and_selections_count_for_the_memory_of_their_vu() {
    let bounds = Bounds { account: Account::new(1 << 20), ..Bounds::default() };
    let page = Selection::parse(&"<p>x</p>".repeat(1_000), "", &bounds).unwrap();
    let of_page = bounds.account.used();
    assert!(of_page > 100_000, "{of_page}");
    let kept: Vec<Selection> = (0..10).map(|_| page.find(&Target::of_selector("p"))).collect();
    assert!(bounds.account.used() > of_page + 40_000);
    drop(kept);
    drop(page);
    assert_eq!(bounds.account.used(), 0);
    let bomb = "<i>".repeat(500_000 / 3);
    assert!(matches!(Selection::parse(&bomb, "", &bounds), Err(PageError::TooDeep)));
    let wide = "<i></i>".repeat(100_000);
    assert_eq!(Selection::parse(&wide, "", &bounds).err(), Some(PageError::OutOfMemory));
    assert_eq!(bounds.account.used(), 0);
}

#[test]
fn text_that_repeats_itself_ends_at_the_memory_of_the_vu() {
    let bounds = Bounds { account: Account::new(4 << 20), ..Bounds::default() };
    let html = "<div>".repeat(400) + &"x".repeat(100_000);
    let page = Selection::parse(&html, "", &bounds).unwrap();
    let all = page.find(&Target::of_selector("div"));
    assert!(all.text().len() < 4 << 20);
    assert_eq!(all.take_trouble(), Some(PageError::OutOfMemory));
}

#[test]
fn work_ends_when_it_must() {
    let bounds = Bounds { must_end: Rc::new(|| true), ..Bounds::default() };
    assert_eq!(Selection::parse(PAGE, "", &bounds).err(), Some(PageError::Ended));
}

#[test]
fn nodes_of_another_page_are_not_taken_for_those_of_this_one() {
    let (one, other) = (page(), read(&"<p>x</p>".repeat(1_000)).unwrap());
    let many = other.find(&Target::of_selector("p"));
    let own = one.find(&Target::of_selector("li"));
    assert_eq!(own.add(&Target::of_selection(&many)).len(), 3);
    assert_eq!(own.filter(&Target::of_selection(&many), true).len(), 0);
    assert_eq!(own.place_of(&many), -1);
}

#[test]
fn a_chain_of_selections_of_any_length_goes_on_a_small_stack() {
    let run = || {
        let page = page();
        let mut at = page.find(&Target::of_selector("li"));
        for _ in 0..100_000 {
            at = at.at(0);
        }
        drop(at);
    };
    std::thread::Builder::new().stack_size(120 << 10).spawn(run).unwrap().join().unwrap();
}

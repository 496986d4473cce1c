//! The board as seen in a browser.

use crate::fixture::{Board, Browser, token_of};

#[test]
fn a_person_signs_up_writes_edits_and_deletes() {
    let board = Board::start(&[]);
    let mut ada = Browser::new(&board);
    ada.sign_up("ada");
    let post = ada.write_post("A title of mine", "First.\r\n\r\nSecond <b>bold</b>.");
    let page = ada.get(&post).body;
    assert!(page.contains("<h1>A title of mine</h1>") && page.contains("<p>First.</p>"), "{page}");
    assert!(!page.contains("<b>bold"), "what people write must not become markup");
    assert!(ada.get("/").body.contains("A title of mine"), "the newest post is on the front page");

    let edit = format!("{post}/edit");
    let response = ada.submit(&edit, &post, &[("title", "Another title"), ("description", "Text")]);
    assert_eq!((response.status, response.location.as_str()), (303, post.as_str()));
    assert!(ada.get("/").body.contains("Another title"));

    let comments = format!("{post}/comments");
    let response = ada.submit(&post, &comments, &[("body", "A comment of mine")]);
    let (_, comment) = response.location.split_once("#comment-").unwrap();
    assert!(ada.get(&post).body.contains("1 comments"));
    let path = format!("/comments/{comment}");
    assert_eq!(ada.submit(&format!("{path}/edit"), &path, &[("body", "Better words")]).status, 303);
    assert!(ada.get(&post).body.contains("Better words"));
    assert_eq!(ada.submit(&post, &format!("{path}/delete"), &[]).status, 303);
    let page = ada.get(&post).body;
    assert!(page.contains("0 comments") && !page.contains("Better words"));

    assert_eq!(ada.submit(&post, &format!("{post}/delete"), &[]).status, 303);
    assert_eq!(ada.get(&post).status, 404);
    assert!(!ada.get("/").body.contains("Another title"));
}

#[test]
fn only_the_author_can_change_a_post_or_comment() {
    let board = Board::start(&[]);
    let (mut ada, mut bob) = (Browser::new(&board), Browser::new(&board));
    ada.sign_up("ada");
    bob.sign_up("bob");
    let post = ada.write_post("A title of mine", "Text");
    ada.submit(&post, &format!("{post}/comments"), &[("body", "A comment of mine")]);
    let comment = board.number("SELECT max(id) FROM comments");

    let page = bob.get(&post).body;
    assert!(!page.contains("/edit\""), "no way to edit is offered");
    assert_eq!(bob.get(&format!("{post}/edit")).status, 403);
    assert_eq!(bob.get(&format!("/comments/{comment}/edit")).status, 403);
    let refused = [
        (post.clone(), vec![("title", "Stolen title"), ("description", "x")]),
        (format!("{post}/delete"), vec![]),
        (format!("/comments/{comment}"), vec![("body", "Stolen comment")]),
        (format!("/comments/{comment}/delete"), vec![]),
    ];
    for (path, fields) in refused {
        assert_eq!(bob.submit("/posts/new", &path, &fields).status, 403, "{path}");
    }
    let page = ada.get(&post).body;
    assert!(page.contains("A title of mine") && page.contains("A comment of mine"));
}

#[test]
fn an_anonymous_visitor_reads_everything_and_writes_nothing() {
    let board = Board::start(&[]);
    let mut stranger = Browser::new(&board);
    let list = stranger.get("/posts");
    assert_eq!(list.body.matches("<article").count(), 50);
    let older = list.body.split("/posts?before=").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(stranger.get(&format!("/posts?before={older}")).body.matches("<article").count(), 50);
    assert_eq!(stranger.get("/posts/1").status, 200);
    assert_eq!(stranger.get("/users/1").status, 200);
    let response = stranger.get("/posts/new");
    assert_eq!((response.status, response.location.as_str()), (303, "/sign_in"));
    let before = board.number("SELECT count(*) FROM posts");
    let response = stranger.submit("/sign_in", "/posts", &[("title", "A stranger's"), ("description", "x")]);
    assert_eq!((response.status, response.location.as_str()), (303, "/sign_in"));
    assert_eq!(board.number("SELECT count(*) FROM posts"), before);
}

#[test]
fn a_form_of_another_site_is_refused() {
    let board = Board::start(&[]);
    let (mut ada, mut eve) = (Browser::new(&board), Browser::new(&board));
    ada.sign_up("ada");
    eve.sign_up("eve");
    let fields = [("title", "Forged title"), ("description", "x")];
    assert_eq!(ada.post("/posts", &fields).status, 403, "no token");
    let token = token_of(&eve.get("/posts/new").body);
    let forged = [&[("token", token.as_str())], &fields[..]].concat();
    assert_eq!(ada.post("/posts", &forged).status, 403, "the token of somebody else");
    assert_eq!(Browser::new(&board).post("/sign_in", &forged).status, 403, "no cookie at all");
    assert_eq!(board.number("SELECT count(*) FROM posts WHERE title = 'Forged title'"), 0);
}

#[test]
fn signing_in_needs_the_password_and_signing_out_ends_the_session() {
    let board = Board::start(&[]);
    let mut ada = Browser::new(&board);
    ada.sign_up("ada");
    let cookies = ada.cookie_header();
    assert_eq!(ada.submit("/", "/sign_out", &[]).status, 303);
    assert!(ada.get("/").body.contains("Sign in"));
    let mut thief = Browser::new(&board);
    thief.set_cookies(&cookies);
    assert!(thief.get("/").body.contains("Sign in"), "the cookie of a session that ended counts no more");

    let sign_in = |ada: &mut Browser, name, password| {
        ada.submit("/sign_in", "/sign_in", &[("screen_name", name), ("password", password)])
    };
    assert_eq!(sign_in(&mut ada, "ada", "a wrong password").status, 422);
    assert_eq!(sign_in(&mut ada, "nobody-there", "a good password").status, 422);
    assert_eq!(sign_in(&mut ada, "ADA", "a good password").status, 303, "names have no case");
    assert!(ada.get("/").body.contains("Sign out"));
    let seeded: String = board
        .database()
        .query_row("SELECT screen_name FROM users WHERE id = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sign_in(&mut Browser::new(&board), &seeded, "password").status, 303);
}

#[test]
fn invalid_input_is_refused_with_a_reason_and_stays_in_the_form() {
    let board = Board::start(&["--body-limit", "4096"]);
    let mut ada = Browser::new(&board);
    ada.sign_up("ada");
    let taken: String =
        board.database().query_row("SELECT title FROM posts WHERE id = 1", [], |row| row.get(0)).unwrap();
    for (title, reason) in [("Tiny", "The title has 4 characters"), (taken.as_str(), "of this title already")]
    {
        let response = ada.submit("/posts/new", "/posts", &[("title", title), ("description", "My text")]);
        assert_eq!(response.status, 422);
        assert!(response.body.contains(reason) && response.body.contains("My text"), "{}", response.body);
    }
    let response = ada.submit("/posts/1", "/posts/1/comments", &[("body", "Hey")]);
    assert_eq!(response.status, 422);
    let long = "x".repeat(5000);
    assert_eq!(
        ada.submit("/posts/new", "/posts", &[("title", "A title"), ("description", &long)]).status,
        413
    );

    let mut new = Browser::new(&board);
    for (name, password) in [("al", "a good password"), ("a b c", "a good password"), ("alan", "short")] {
        let fields = [("screen_name", name), ("password", password)];
        assert_eq!(new.submit("/sign_up", "/sign_up", &fields).status, 422, "{name}");
    }
    let fields = [("screen_name", "Ada"), ("password", "a good password")];
    assert!(new.submit("/sign_up", "/sign_up", &fields).body.contains("belongs to somebody else"));
}

#[test]
fn missing_pages_and_bad_paths_are_a_4xx() {
    let board = Board::start(&[]);
    let mut browser = Browser::new(&board);
    for (path, status) in [
        ("/posts/999999", 404),
        ("/users/999999", 404),
        ("/posts/abc", 400),
        ("/posts/99999999999999999999", 400),
        ("/posts?before=x", 400),
        ("/nothing", 404),
        ("/benchmarking/post_show", 405),
    ] {
        assert_eq!(browser.get(path).status, status, "{path}");
    }
    assert_eq!(browser.post("/benchmarking/no_such_thing", &[]).status, 404);
}

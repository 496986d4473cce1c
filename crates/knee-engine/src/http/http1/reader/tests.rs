//! Responses read whole and in pieces.

use super::*;

/// What was read of a response.
#[derive(Default, Debug, PartialEq)]
struct Kept {
    status: u16,
    body: Vec<u8>,
    ended: bool,
}

impl Sink for Kept {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        assert_eq!(self.status, 0, "one head a response");
        self.status = head.status;
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.body.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.ended = true;
        Ok(())
    }
}

/// Reads one response that arrives in pieces of `step` bytes, then the end of the connection.
fn read(input: &[u8], step: usize, head_request: bool) -> Result<(Kept, usize, bool), Fault> {
    let mut reader = ResponseReader::new(1 << 20, Rc::default());
    let mut kept = Kept::default();
    reader.expect(head_request);
    let mut left = input.len();
    for piece in input.chunks(step) {
        left -= piece.len();
        if let Progress::Complete { surplus } = reader.feed(piece, &mut kept)? {
            return Ok((kept, surplus + left, reader.keep_alive()));
        }
    }
    reader.feed_end(&mut kept)?;
    Ok((kept, 0, reader.keep_alive()))
}

/// The same for every size of equal pieces; all must give the same result.
fn read_every_way(input: &str) -> Result<(Kept, usize, bool), Fault> {
    let whole = read(input.as_bytes(), input.len().max(1), false);
    for step in 1..input.len() {
        let pieces = read(input.as_bytes(), step, false);
        assert_eq!(pieces, whole, "in pieces of {step}: {input:?}");
    }
    whole
}

#[test]
fn a_response_reads_the_same_in_any_pieces() {
    let (kept, surplus, keep_alive) =
        read_every_way("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello").unwrap();
    assert_eq!(kept, Kept { status: 200, body: b"hello".to_vec(), ended: true });
    assert_eq!((surplus, keep_alive), (0, true));
}

#[test]
fn interim_responses_are_skipped() {
    let input = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
                 HTTP/1.1 204 No Content\r\n\r\n";
    let (kept, surplus, keep_alive) = read_every_way(input).unwrap();
    assert_eq!((kept.status, surplus, keep_alive), (204, 0, true));
}

#[test]
fn endless_interim_responses_are_a_fault() {
    let input = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
    assert_eq!(read_every_way(&input), Err(Fault::TooManyInterim));
}

#[test]
fn a_body_without_length_lasts_until_the_connection_ends() {
    let (kept, _, keep_alive) = read_every_way("HTTP/1.1 200 OK\r\n\r\nabc").unwrap();
    assert_eq!((kept.body.as_slice(), kept.ended, keep_alive), (&b"abc"[..], true, false));
}

#[test]
fn responses_to_head_requests_have_no_body() {
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
    let (kept, surplus, _) = read(input, 7, true).unwrap();
    assert_eq!((kept.body.len(), kept.ended, surplus), (0, true, 0));
}

#[test]
fn bytes_after_a_response_are_surplus_and_belong_to_no_request() {
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n";
    let (kept, surplus, _) = read(input, input.len(), false).unwrap();
    assert_eq!((kept.body.as_slice(), surplus), (&b"ok"[..], 17));
}

#[test]
fn version_and_header_decide_whether_a_connection_is_kept() {
    for (head, keep) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, close\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close, keep-alive\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", true),
    ] {
        assert_eq!(read_every_way(head).unwrap().2, keep, "{head}");
    }
}

#[test]
fn a_response_that_is_not_http_has_a_malformed_head() {
    for input in [
        "garbage\r\n\r\n",
        "\u{0}\u{1}\u{2}",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 99 X\r\n\r\n",
        "SSH-2.0-x\r\n",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ] {
        assert_eq!(read_every_way(input), Err(Fault::MalformedHead), "{input:?}");
    }
}

#[test]
fn a_head_that_is_cut_off_is_short_and_not_malformed() {
    for input in ["HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 2", "HT"] {
        assert_eq!(read_every_way(input), Err(Fault::ShortHead), "{input:?}");
    }
}

#[test]
fn a_header_line_that_is_malformed_is_named_as_such() {
    for line in
        ["A: b\rc", "A: b\0c", "A : b", "A\t: b", "A\0: b", ": b", "A b", " folded", "A: b\r\n folded"]
    {
        let input = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{line}\r\n\r\n");
        assert_eq!(read_every_way(&input), Err(Fault::MalformedHeader), "{line:?}");
    }
}

#[test]
fn a_line_feed_alone_ends_a_line_of_the_head_but_not_of_a_chunk() {
    let (kept, surplus, _) = read_every_way("HTTP/1.1 200 OK\nContent-Length: 2\n\nok").unwrap();
    assert_eq!((kept.body.as_slice(), surplus), (&b"ok"[..], 0));
    let chunked = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n";
    assert_eq!(read_every_way(chunked), Err(Fault::BadChunk));
}

#[test]
fn a_length_that_is_repeated_in_a_list_is_that_length() {
    for value in ["2, 2", "2,2,2", " 2 ,\t2"] {
        let input = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!(read_every_way(&input).unwrap().0.body, b"ok", "{value}");
    }
    for value in ["2, 3", "2,", ",2", "2, x", ", ", "2, 99999999999999999999"] {
        let input = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\nok");
        assert_eq!(read_every_way(&input), Err(Fault::BadLength), "{value}");
    }
}

#[test]
fn framing_that_contradicts_itself_is_refused() {
    for (headers, fault) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", Fault::ConflictingFraming),
        ("Transfer-Encoding: gzip, chunked", Fault::BadTransferCoding),
        ("Transfer-Encoding: chunked, chunked", Fault::BadTransferCoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Fault::BadTransferCoding),
        ("Content-Length: 5\r\nContent-Length: 6", Fault::BadLength),
        ("Content-Length: -1", Fault::BadLength),
        ("Content-Length: 5x", Fault::BadLength),
        ("Content-Length: 99999999999999999999", Fault::BadLength),
        ("Content-Length:", Fault::BadLength),
    ] {
        let input = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nhello");
        assert_eq!(read_every_way(&input), Err(fault), "{headers}");
    }
    assert!(read_every_way("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok").is_ok());
}

#[test]
fn a_body_that_ends_early_is_short() {
    for input in [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    ] {
        assert_eq!(read_every_way(input), Err(Fault::ShortBody));
    }
}

#[test]
fn endless_heads_are_refused_in_bounded_memory_and_time() {
    let mut input = b"HTTP/1.1 200 OK\r\n".to_vec();
    while input.len() < HEAD_MAX + 20_000 {
        input.extend_from_slice(format!("H: {}\r\n", "v".repeat(5_000)).as_bytes());
    }
    assert_eq!(read(&input, 1_000, false), Err(Fault::HeadTooLarge));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
    assert_eq!(read(many.as_bytes(), many.len(), false), Err(Fault::HeadTooLarge));
    // One byte at a time: parsing once per byte would take minutes.
    assert_eq!(read(&input, 1, false), Err(Fault::HeadTooLarge));
}

/// A head without its end, of `length` bytes.
fn endless_head(length: usize) -> Vec<u8> {
    let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    head.resize(length, b'x');
    head
}

#[test]
fn incomplete_heads_of_thousands_of_connections_hold_no_more_than_the_budget() {
    const LIMIT: u64 = 20 << 20;
    let budget = Rc::new(MemoryBudget::new(LIMIT));
    let head = endless_head(255 << 10);
    let mut open = Vec::new();
    let mut refused = 0;
    for _ in 0..2_000 {
        let mut reader = ResponseReader::new(1 << 20, budget.clone());
        reader.expect(false);
        match head.chunks(60_000).try_for_each(|piece| reader.feed(piece, &mut Kept::default()).map(drop)) {
            Ok(()) => open.push(reader),
            Err(fault) => {
                assert_eq!(fault, Fault::MemoryLimit);
                refused += 1;
            }
        }
        assert!(budget.used() <= LIMIT, "{}", budget.used());
    }
    assert!(open.len() >= 80 && refused >= 1_900, "{} {refused}", open.len());
    // The end of a head gives its memory back.
    for mut reader in open {
        assert!(reader.feed(b"\r\nContent-Length: 1\r\n\r\n", &mut Kept::default()).is_ok());
    }
    assert_eq!(budget.used(), 0);
}

#[test]
fn an_ordinary_head_in_pieces_needs_nothing_of_the_budget() {
    let head = [endless_head(HEAD_FREE as usize - 100), b"\r\nContent-Length: 0\r\n\r\n".to_vec()].concat();
    let mut reader = ResponseReader::new(1 << 20, Rc::new(MemoryBudget::new(0)));
    reader.expect(false);
    let mut kept = Kept::default();
    let last = head.chunks(1_000).map(|piece| reader.feed(piece, &mut kept)).last();
    assert_eq!(last, Some(Ok(Progress::Complete { surplus: 0 })));
}

#[test]
fn a_body_over_the_limit_is_refused_without_being_read() {
    let input = format!("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n{}", "x".repeat(2_000_000));
    assert_eq!(read(input.as_bytes(), 65_536, false), Err(Fault::BodyLimit));
}

#[test]
fn an_upgrade_without_a_request_for_it_is_a_fault() {
    assert_eq!(read_every_way("HTTP/1.1 101 Switching Protocols\r\n\r\n"), Err(Fault::UnexpectedUpgrade));
}

#[test]
fn a_connection_that_ends_before_the_first_byte_closed_early() {
    assert_eq!(read_every_way(""), Err(Fault::ClosedEarly));
}

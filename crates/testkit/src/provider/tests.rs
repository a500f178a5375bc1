use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

fn connect(provider: &FakeProvider) -> TcpStream {
    let address = provider.url().strip_prefix("http://").expect("a plain address");
    let stream = TcpStream::connect(address).expect("connects");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream
}

fn ask(stream: &mut TcpStream, body: &str) {
    let request = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nX-Api-Key:  k \r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("writes");
}

/// Everything until the end of the connection, and whether that was an orderly one.
fn hear(stream: &mut TcpStream) -> (String, bool) {
    let mut bytes = Vec::new();
    let orderly = stream.read_to_end(&mut bytes).is_ok();
    (String::from_utf8(bytes).expect("text"), orderly)
}

fn hear_exactly(stream: &mut TcpStream, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    stream.read_exact(&mut bytes).expect("reads");
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn a_request_is_kept_as_it_came() {
    let provider = FakeProvider::start();
    ask(&mut connect(&provider), r#"{"a":1}"#);
    let requests = provider.block_on(provider.wait_for_requests(1));
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1/messages?beta=true"));
    assert_eq!(requests[0].header("x-api-key"), Some("k"));
    assert_eq!((&requests[0].raw[..], &requests[0].body), (&br#"{"a":1}"#[..], &serde_json::json!({"a": 1})));
}

#[test]
fn a_body_in_chunks_is_put_together() {
    let provider = FakeProvider::start();
    let mut stream = connect(&provider);
    stream.write_all(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\n\"ab\r\nA\r\n").expect("writes");
    stream.write_all(b"cdefghijk\"\r\n0\r\n\r\n").expect("writes");
    let requests = provider.block_on(provider.wait_for_requests(1));
    assert_eq!(requests[0].body, "abcdefghijk");
}

#[test]
fn answers_come_in_their_order_over_one_connection_and_then_the_default() {
    let provider = FakeProvider::start();
    provider.push(Answer::new(200).body("one"));
    provider.push(Answer::new(201).header("X-A", "1").header("x-a", "2").body("two").with_length());
    provider.always(Answer::new(404));
    assert_eq!(provider.answers_left(), 2);
    let mut stream = connect(&provider);
    for expected in [
        format!("{HEAD}3\r\none\r\n0\r\n\r\n"),
        "HTTP/1.1 201 OK\r\nx-a: 2\r\ncontent-length: 3\r\n\r\ntwo".into(),
        "HTTP/1.1 404 Refused\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".into(),
        "HTTP/1.1 404 Refused\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".into(),
    ] {
        ask(&mut stream, "");
        hear_exactly(&mut stream, &expected);
    }
    assert_eq!(provider.answers_left(), 0);
    ask(&mut connect(&provider), "");
    let requests = provider.block_on(provider.wait_for_requests(5));
    assert_eq!(requests.iter().map(|request| request.connection).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
}

#[test]
fn a_request_that_nobody_expected_fails_loudly() {
    let provider = FakeProvider::start();
    let mut stream = connect(&provider);
    ask(&mut stream, "");
    let message = "The fake provider has no answer for request 0 (POST /v1/messages?beta=true). \
                   Push one, or set one with always().";
    let body = anthropic::error_body("api_error", message).to_string();
    let head = "HTTP/1.1 500 Failed\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    hear_exactly(&mut stream, &format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()));
}

#[test]
fn a_cut_resets_the_connection_within_a_chunk() {
    let provider = FakeProvider::start();
    provider.push(Answer::new(200).body("abcdef").chunked(4).cut_after(5));
    let mut stream = connect(&provider);
    ask(&mut stream, "");
    assert_eq!(hear(&mut stream), (format!("{HEAD}4\r\nabcd\r\n2\r\ne"), false));
    assert_eq!(provider.sent_bytes(0), 5);
}

#[test]
fn a_close_is_orderly_but_leaves_the_body_without_its_end() {
    let provider = FakeProvider::start();
    provider.push(Answer::new(200).body("abcdef").close_after(6));
    provider.push(Answer::new(200).body("abcdef").close_after(0));
    provider.push(Answer::new(200).body("abcdef").until_close());
    let closing = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabcdef";
    for expected in [format!("{HEAD}6\r\nabcdef\r\n"), HEAD.into(), closing.into()] {
        let mut stream = connect(&provider);
        ask(&mut stream, "");
        assert_eq!(hear(&mut stream), (expected, true));
    }
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let provider = FakeProvider::start();
    provider.push(Answer::raw("SSH-2.0-x\r\n"));
    provider.push(Answer::hang_up());
    for expected in ["SSH-2.0-x\r\n", ""] {
        let mut stream = connect(&provider);
        ask(&mut stream, "");
        assert_eq!(hear(&mut stream), (expected.to_owned(), true));
    }
}

#[test]
fn a_gate_holds_each_chunk_until_it_is_released() {
    let provider = FakeProvider::start();
    let gate = provider.gate();
    provider.push(Answer::events(["a", "b", "c"]).gated(&gate));
    let mut stream = connect(&provider);
    ask(&mut stream, "");
    gate.release(2);
    let second = provider.block_on(gate.sent(2));
    assert_eq!(provider.sent_bytes(0), 2);
    gate.open();
    assert!(provider.block_on(gate.sent(3)) >= second);
    assert_eq!(provider.sent_bytes(0), 3);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_connection_is_noticed_while_the_answer_is_silent_and_the_clock_is_paused() {
    for answer in [Answer::silent(), Answer::events(["a", "b"]).stall_after(1)] {
        let provider = FakeProvider::start();
        provider.push(answer);
        let mut stream = connect(&provider);
        ask(&mut stream, "");
        provider.wait_for_requests(1).await;
        let before = Instant::now();
        drop(stream);
        assert!(provider.closed(0).await >= before);
    }
}

#[test]
fn an_endless_answer_ends_with_its_reader() {
    let provider = FakeProvider::start();
    provider.push(Answer::events(["start"]).then_forever("x".repeat(1000)));
    let mut stream = connect(&provider);
    ask(&mut stream, "");
    stream.read_exact(&mut vec![0; 1_000_000]).expect("more than the body");
    drop(stream);
    provider.block_on(provider.closed(0));
    assert!(provider.sent_bytes(0) > 900_000);
}

#[test]
fn dropping_the_provider_ends_every_connection() {
    let provider = FakeProvider::start();
    provider.push(Answer::silent());
    let mut stream = connect(&provider);
    ask(&mut stream, "");
    provider.block_on(provider.wait_for_requests(1));
    let url = provider.url().to_owned();
    drop(provider);
    assert_eq!(hear(&mut stream).0, "");
    assert!(TcpStream::connect(url.strip_prefix("http://").expect("a plain address")).is_err());
}

#[test]
fn a_path_has_its_own_answer_and_leaves_the_queue_alone() {
    let provider = FakeProvider::start();
    provider.push(Answer::new(200).body("queued"));
    provider.on_path("/v1/messages", Answer::new(200).body("one"));
    let mut stream = connect(&provider);
    for _ in 0..2 {
        ask(&mut stream, "");
        hear_exactly(&mut stream, &format!("{HEAD}3\r\none\r\n0\r\n\r\n"));
    }
    assert_eq!(provider.answers_left(), 1);
    stream.write_all(b"GET /v1/messages/else HTTP/1.1\r\n\r\n").expect("writes");
    hear_exactly(&mut stream, &format!("{HEAD}6\r\nqueued\r\n0\r\n\r\n"));
}

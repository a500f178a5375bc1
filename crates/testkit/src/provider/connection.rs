//! HTTP/1.1 by hand: every byte goes out when the answer says so, and not otherwise.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::answer::{Answer, End, Framing, Head};
use super::{Exchange, Request, Script, request};

/// A request that is larger is not one of ours.
const LARGEST_REQUEST: usize = 256 * 1024 * 1024;

/// Accepts connections until it is dropped.
pub(super) async fn serve(listener: std::net::TcpListener, script: Arc<Script>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener that does not block");
    for number in 0.. {
        let (stream, _) = listener.accept().await.expect("a connection");
        tokio::spawn(converse(number, stream, Arc::clone(&script)));
    }
}

/// What happens to a connection after an answer.
enum Fate {
    Kept,
    Closed,
    Reset,
}

async fn converse(number: usize, mut stream: TcpStream, script: Arc<Script>) {
    // Each chunk is to leave at once, however small it is.
    let _ = stream.set_nodelay(true);
    let mut inbox = Vec::new();
    let mut exchanges: Vec<Arc<Exchange>> = Vec::new();
    let reset = loop {
        let (mut reader, mut writer) = stream.split();
        let Some(request) = read_request(number, &mut reader, &mut inbox, script.keeps_bodies()).await else {
            break false;
        };
        let (exchange, answer) = script.take(request);
        exchanges.push(Arc::clone(&exchange));
        let fate = tokio::select! {
            biased;
            () = peer_gone(&mut reader, &mut inbox) => Fate::Closed,
            fate = give(&mut writer, &answer, &exchange) => fate.unwrap_or(Fate::Closed),
        };
        let _ = exchange.answered.set(Instant::now());
        match fate {
            Fate::Kept => {}
            Fate::Closed => break false,
            Fate::Reset => break true,
        }
    };
    if reset {
        let _ = stream.set_zero_linger();
    }
    drop(stream);
    let now = Instant::now();
    for exchange in exchanges {
        exchange.closed.send_replace(Some(now));
    }
}

/// The next request; none when the peer is done, or speaks something else.
async fn read_request(
    connection: usize,
    reader: &mut ReadHalf<'_>,
    inbox: &mut Vec<u8>,
    keeps_body: bool,
) -> Option<Request> {
    let head_end = loop {
        if let Some(end) = position(inbox, b"\r\n\r\n") {
            break end + 4;
        }
        more(reader, inbox).await?;
    };
    let mut request = request::parse_head(connection, &inbox[..head_end])?;
    inbox.drain(..head_end);
    request.raw = if request.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        read_chunks(reader, inbox).await?
    } else {
        let length = request.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
        take(reader, inbox, length).await?
    };
    request.size = request.raw.len();
    if keeps_body {
        request.body = serde_json::from_slice(&request.raw).unwrap_or(Value::Null);
    } else {
        request.raw = Bytes::new();
    }
    Some(request)
}

async fn read_chunks(reader: &mut ReadHalf<'_>, inbox: &mut Vec<u8>) -> Option<Bytes> {
    let mut body = Vec::new();
    loop {
        let line_end = loop {
            if let Some(end) = position(inbox, b"\r\n") {
                break end;
            }
            more(reader, inbox).await?;
        };
        let size = usize::from_str_radix(std::str::from_utf8(&inbox[..line_end]).ok()?.trim(), 16).ok()?;
        inbox.drain(..line_end + 2);
        let chunk = take(reader, inbox, size.checked_add(2)?).await?;
        if size == 0 {
            return Some(body.into());
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

async fn take(reader: &mut ReadHalf<'_>, inbox: &mut Vec<u8>, length: usize) -> Option<Bytes> {
    while inbox.len() < length {
        more(reader, inbox).await?;
    }
    Some(inbox.drain(..length).collect())
}

async fn more(reader: &mut ReadHalf<'_>, inbox: &mut Vec<u8>) -> Option<()> {
    let count = reader.read_buf(inbox).await.ok()?;
    (count > 0 && inbox.len() <= LARGEST_REQUEST).then_some(())
}

/// Waits until the peer closes or resets the connection; what it says meanwhile is kept.
async fn peer_gone(reader: &mut ReadHalf<'_>, inbox: &mut Vec<u8>) {
    while more(reader, inbox).await.is_some() {}
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

async fn give(writer: &mut WriteHalf<'_>, answer: &Answer, exchange: &Exchange) -> io::Result<Fate> {
    let framing = match &answer.head {
        Some(head) => {
            writer.write_all(&head_bytes(head, answer)).await?;
            head.framing
        }
        None => Framing::Close,
    };
    let forever = match &answer.end {
        End::Never(chunk) => Some(chunk),
        _ => None,
    };
    let mut left = match answer.end {
        End::Cut(bytes) | End::Close(bytes) | End::Stall(bytes) => bytes,
        End::Complete | End::Never(_) => usize::MAX,
    };
    let chunks = answer.chunks.iter().chain(std::iter::repeat_with(|| forever).map_while(|chunk| chunk));
    for (index, chunk) in chunks.enumerate() {
        if left == 0 {
            break;
        }
        if let Some(gate) = &answer.gate {
            gate.pass(index).await;
        }
        let part = &chunk[..chunk.len().min(left)];
        writer.write_all(&framed(framing, chunk, part)).await?;
        left -= part.len();
        exchange.sent.send_modify(|sent| *sent += part.len() as u64);
        if let Some(gate) = &answer.gate {
            gate.note_sent();
        }
    }
    match answer.end {
        End::Cut(_) => Ok(Fate::Reset),
        End::Close(_) => Ok(Fate::Closed),
        End::Stall(_) => std::future::pending().await,
        End::Complete | End::Never(_) => match framing {
            Framing::Chunked => {
                writer.write_all(b"0\r\n\r\n").await?;
                Ok(Fate::Kept)
            }
            Framing::Length => Ok(Fate::Kept),
            Framing::Close => Ok(Fate::Closed),
        },
    }
}

fn head_bytes(head: &Head, answer: &Answer) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {} {}\r\n", head.status, reason(head.status));
    for (name, value) in &head.headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &match head.framing {
        Framing::Chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
        Framing::Length => format!("content-length: {}\r\n\r\n", answer.body_bytes().len()),
        Framing::Close => "connection: close\r\n\r\n".to_owned(),
    };
    text.into_bytes()
}

/// As much of a chunk as goes out, in one write. A chunk that is cut announces what it should have had.
fn framed(framing: Framing, chunk: &[u8], part: &[u8]) -> Vec<u8> {
    if framing != Framing::Chunked {
        return part.to_vec();
    }
    let mut bytes = format!("{:x}\r\n", chunk.len()).into_bytes();
    bytes.extend_from_slice(part);
    if part.len() == chunk.len() {
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn reason(status: u16) -> &'static str {
    match status {
        200..=299 => "OK",
        300..=399 => "Elsewhere",
        400..=499 => "Refused",
        _ => "Failed",
    }
}

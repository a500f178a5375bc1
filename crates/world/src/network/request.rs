//! What a program asks the proxy for.

use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Bytes of a request before its body.
pub(super) const LONGEST_HEAD: usize = 64 * 1024;
const MOST_HEADERS: usize = 128;

/// A host and its port, as a program names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPort {
    pub(super) host: String,
    pub(super) port: u16,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyRequest {
    /// A connection, through which anything can be sent.
    Tunnel(HostPort),
    /// One request of plain HTTP. `head` is what the host gets.
    Forward { to: HostPort, head: Vec<u8>, body: BodyLength },
}

/// How long the body of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyLength {
    Bytes(u64),
    Chunked,
}

/// A request, and by which password it is made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) token: Option<String>,
    pub(super) request: ProxyRequest,
}

/// Why a request cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadRequest {
    /// It cannot be read, or can be read in two ways.
    Malformed,
    /// The host in its address is not the one in its `Host` header. The password by which it is made.
    Mismatch(HostPort, Option<String>),
}

/// Reads the head of an HTTP request, which is whole.
pub(super) fn read_head(head: &[u8]) -> Result<Asked, BadRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        _ => return Err(BadRequest::Malformed),
    }
    let (Some(method), Some(path), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(BadRequest::Malformed);
    };
    let token = password(parsed.headers);
    if method == "CONNECT" {
        let to = authority(path, None).ok_or(BadRequest::Malformed)?;
        return Ok(Asked { token, request: ProxyRequest::Tunnel(to) });
    }
    let rest = path.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).and_then(|_| path.get(7..));
    let rest = rest.ok_or(BadRequest::Malformed)?;
    let (named, local) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let to = authority(named, Some(80)).ok_or(BadRequest::Malformed)?;
    let local = if local.starts_with('/') { local.to_owned() } else { format!("/{local}") };
    check_host(parsed.headers, &to, version, token.as_ref())?;
    let body = body_length(parsed.headers, version)?;
    let mut forwarded =
        format!("{method} {local} HTTP/1.{version}\r\nHost: {named}\r\nConnection: close\r\n").into_bytes();
    for header in kept(parsed.headers) {
        forwarded.extend_from_slice(header.name.as_bytes());
        forwarded.extend_from_slice(b": ");
        forwarded.extend_from_slice(header.value);
        forwarded.extend_from_slice(b"\r\n");
    }
    forwarded.extend_from_slice(b"\r\n");
    Ok(Asked { token, request: ProxyRequest::Forward { to, head: forwarded, body } })
}

/// The headers that are meant for the host, but for `Host`, which is written anew.
fn kept<'h>(headers: &'h [httparse::Header<'h>]) -> impl Iterator<Item = &'h httparse::Header<'h>> {
    const BETWEEN: [&str; 7] =
        ["connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade"];
    let listed: Vec<String> = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("connection"))
        .flat_map(|header| {
            String::from_utf8_lossy(header.value)
                .to_ascii_lowercase()
                .split(',')
                .map(str::trim)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    headers.iter().filter(move |header| {
        let name = header.name.to_ascii_lowercase();
        // A body without its length would be another request.
        let frames = matches!(name.as_str(), "content-length" | "transfer-encoding");
        !BETWEEN.contains(&name.as_str()) && (frames || !listed.contains(&name))
    })
}

/// The `Host` header names the same host as the address, and there is no other.
fn check_host(
    headers: &[httparse::Header<'_>],
    to: &HostPort,
    version: u8,
    token: Option<&String>,
) -> Result<(), BadRequest> {
    let mut hosts = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next(), version) {
        (None, _, 0) => Ok(()),
        (Some(host), None, _) => {
            let host = std::str::from_utf8(host.value).ok().and_then(|host| authority(host.trim(), Some(80)));
            let is_same = host.is_some_and(|host| {
                trimtab_vocab::plain_host(&host.host) == trimtab_vocab::plain_host(&to.host) && host.port == to.port
            });
            if is_same { Ok(()) } else { Err(BadRequest::Mismatch(to.clone(), token.cloned())) }
        }
        _ => Err(BadRequest::Malformed),
    }
}

fn body_length(headers: &[httparse::Header<'_>], version: u8) -> Result<BodyLength, BadRequest> {
    let all = |name: &str| -> Vec<&[u8]> {
        headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value).collect()
    };
    match (all("content-length").as_slice(), all("transfer-encoding").as_slice()) {
        ([], []) => Ok(BodyLength::Bytes(0)),
        ([length], []) => {
            let digits = std::str::from_utf8(length).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|text| text.parse().ok()).map(BodyLength::Bytes).ok_or(BadRequest::Malformed)
        }
        // To a host of HTTP/1.0, the chunks would be the next request.
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") && version > 0 => Ok(BodyLength::Chunked),
        _ => Err(BadRequest::Malformed),
    }
}

/// The password of the command, as `Basic` authorization has it.
fn password(headers: &[httparse::Header<'_>]) -> Option<String> {
    use base64::Engine as _;
    let mut given = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("proxy-authorization"));
    let (only, None) = (given.next()?, given.next()) else { return None };
    let text = std::str::from_utf8(only.value).ok()?;
    let (scheme, coded) = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?;
    let _ = scheme;
    let decoded = base64::engine::general_purpose::STANDARD.decode(coded.trim()).ok()?;
    let pair = String::from_utf8(decoded).ok()?;
    Some(pair.split_once(':')?.1.to_owned())
}

/// A host with its port. There is no user in it, and nothing that somebody else would read as one.
fn authority(text: &str, port: Option<u16>) -> Option<HostPort> {
    let (host, given) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, after.strip_prefix(':').map(Some).or_else(|| after.is_empty().then_some(None))?)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    let port = match given {
        Some(given) if given.len() <= 5 && given.bytes().all(|byte| byte.is_ascii_digit()) => given.parse().ok()?,
        Some(_) => return None,
        None => port?,
    };
    let is_host = !host.is_empty() && host.len() <= 253 && host.bytes().all(is_plain) && port > 0;
    is_host.then(|| HostPort { host: host.to_owned(), port })
}

/// Where the head of an HTTP request ends, if it does.
pub(super) fn head_end(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4)
}

const SOCKS: u8 = 5;
const BY_PASSWORD: u8 = 2;

/// Takes a program through the greeting of SOCKS5, whose first byte is read, to what it asks for.
pub(super) async fn read_socks<S>(stream: &mut S) -> Option<Asked>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut methods = vec![0; usize::from(stream.read_u8().await.ok()?)];
    stream.read_exact(&mut methods).await.ok()?;
    if !methods.contains(&BY_PASSWORD) {
        let _ = stream.write_all(&[SOCKS, 0xff]).await;
        return None;
    }
    stream.write_all(&[SOCKS, BY_PASSWORD]).await.ok()?;
    if stream.read_u8().await.ok()? != 1 {
        return None;
    }
    let _user = short_text(stream).await?;
    let token = short_text(stream).await?;
    stream.write_all(&[1, 0]).await.ok()?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.ok()?;
    let [SOCKS, command, 0, kind] = head else { return None };
    let host = match kind {
        1 => Ipv4Addr::from(stream.read_u32().await.ok()?).to_string(),
        3 => short_text(stream).await?,
        4 => Ipv6Addr::from(stream.read_u128().await.ok()?).to_string(),
        _ => return None,
    };
    let port = stream.read_u16().await.ok()?;
    // Connections only: no listening on behalf of a command, and no datagrams.
    if command != 1 {
        let _ = stream.write_all(&socks_reply(7)).await;
        return None;
    }
    let to = match kind {
        3 => authority(&format!("{host}:{port}"), None)?,
        _ => HostPort { host, port },
    };
    Some(Asked { token: Some(token), request: ProxyRequest::Tunnel(to) })
}

/// The answer of SOCKS5: 0 is yes, 2 is refused by a rule, 4 is unreachable, 7 is unknown.
pub(super) fn socks_reply(code: u8) -> [u8; 10] {
    [SOCKS, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

async fn short_text<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut bytes = vec![0; usize::from(stream.read_u8().await.ok()?)];
    stream.read_exact(&mut bytes).await.ok()?;
    String::from_utf8(bytes).ok()
}

/// Follows the chunks of a body to its end, so that nothing after it is sent.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: ChunkState,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum ChunkState {
    #[default]
    Size,
    /// The size so far, and how long the rest of its line is, which does not count.
    InSize(u64, Option<u32>),
    /// The end of the line of this size.
    SizeEnd(u64),
    Data(u64),
    /// The line end after a chunk,
    AfterData,
    /// and its last byte.
    DataEnd,
    /// The lines after the last chunk, and how long the current one is.
    Trailer(u32),
    TrailerEnd(u32),
    Over,
}

/// A line of trailers, or the rest of the line of a size, that is longer is not one.
const LONGEST_TRAILER: u32 = 8 * 1024;

impl Chunks {
    /// How many of these bytes belong to the body, and whether it is over then; nothing if they are not chunks.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<(usize, bool)> {
        let mut at = 0;
        while at < bytes.len() && self.state != ChunkState::Over {
            if let ChunkState::Data(left) = self.state {
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += count;
                let left = left - count as u64;
                self.state = if left == 0 { ChunkState::AfterData } else { ChunkState::Data(left) };
                continue;
            }
            self.state = self.after(bytes[at])?;
            at += 1;
        }
        Some((at, self.state == ChunkState::Over))
    }

    /// Lines end with CR and LF, and neither stands elsewhere: what a host could read differently is not sent.
    fn after(&self, byte: u8) -> Option<ChunkState> {
        use ChunkState::*;
        let digit = char::from(byte).to_digit(16).map(u64::from);
        let is_text = byte == b'\t' || !byte.is_ascii_control();
        Some(match (&self.state, byte, digit) {
            (Size, _, Some(digit)) => InSize(digit, None),
            (InSize(size, None), _, Some(digit)) if *size < 1 << 48 => InSize(size * 16 + digit, None),
            (InSize(size, None), b';', _) => InSize(*size, Some(0)),
            (InSize(size, _), b'\r', _) => SizeEnd(*size),
            (InSize(size, Some(length)), _, _) if is_text && *length < LONGEST_TRAILER => {
                InSize(*size, Some(length + 1))
            }
            (SizeEnd(0), b'\n', _) => Trailer(0),
            (SizeEnd(size), b'\n', _) => Data(*size),
            (AfterData, b'\r', _) => DataEnd,
            (DataEnd, b'\n', _) => Size,
            (Trailer(length), b'\r', _) => TrailerEnd(*length),
            (TrailerEnd(0), b'\n', _) => Over,
            (TrailerEnd(_), b'\n', _) => Trailer(0),
            (Trailer(length), _, _) if is_text && *length < LONGEST_TRAILER => Trailer(length + 1),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(host: &str, port: u16) -> HostPort {
        HostPort { host: host.into(), port }
    }

    #[test]
    fn a_tunnel_is_asked_for_by_host_and_port() {
        let asked = read_head(b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nProxy-Authorization: Basic dDpzZWNyZXQ=\r\n\r\n");
        let expected = Asked { token: Some("secret".into()), request: ProxyRequest::Tunnel(host("example.org", 443)) };
        assert_eq!(asked, Ok(expected));
        for wrong in [
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT a@example.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:0 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:443:80 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:+443 HTTP/1.1\r\n\r\n",
            "CONNECT /x:443 HTTP/1.1\r\n\r\n",
            "CONNECT [::1:443 HTTP/1.1\r\n\r\n",
            "CONNECT [example.org]:443 HTTP/1.1\r\n\r\n",
            "CONNECT ex%61mple.org:443 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET ftp://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET http://a:b@example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET http://good.org\\@evil.org/ HTTP/1.1\r\nHost: good.org\r\n\r\n",
            "GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n",
            "nonsense\r\n\r\n",
        ] {
            assert_eq!(read_head(wrong.as_bytes()), Err(BadRequest::Malformed), "{wrong}");
        }
    }

    #[test]
    fn a_plain_request_is_passed_on_without_what_is_for_the_proxy() {
        let head = b"POST http://Example.org:8080/a?b HTTP/1.1\r\nHost: example.org:8080\r\nProxy-Authorization: Basic dDp4\r\n\
            Proxy-Connection: keep-alive\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nContent-Length: 3\r\nAccept: */*\r\n\r\n";
        let Ok(Asked { token, request: ProxyRequest::Forward { to, head, body } }) = read_head(head) else { panic!() };
        assert_eq!((token.as_deref(), to, body), (Some("x"), host("Example.org", 8080), BodyLength::Bytes(3)));
        let text = String::from_utf8(head).expect("text");
        assert_eq!(
            text,
            "POST /a?b HTTP/1.1\r\nHost: Example.org:8080\r\nConnection: close\r\nContent-Length: 3\r\nAccept: */*\r\n\r\n"
        );
    }

    #[test]
    fn another_host_or_a_second_length_is_refused() {
        let head = |more: &str| format!("GET http://good.org/ HTTP/1.1\r\n{more}\r\n");
        for more in ["Host: evil.org\r\n", "Host: good.org:81\r\n", "Host: good.org.evil.org\r\n"] {
            let read = read_head(head(more).as_bytes());
            assert_eq!(read, Err(BadRequest::Mismatch(host("good.org", 80), None)), "{more}");
        }
        for more in [
            "",
            "Host: good.org\r\nHost: evil.org\r\n",
            "Host: good.org\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
            "Host: good.org\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Host: good.org\r\nContent-Length: +1\r\n",
            "Host: good.org\r\nTransfer-Encoding: chunked, identity\r\n",
            "Host: good.org\r\nTransfer-Encoding : chunked\r\n",
            "Host: good.org\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Host: good.org\r\nTransfer-Encoding: \x0bchunked\r\n",
            "Host: good.org\r\nContent-Length: 1, 1\r\n",
            "Host: good.org\r\nContent-Length: 0x1\r\n",
            "Host: good.org\r\nContent-Length: 1\r\n 2\r\n",
            "Host: good.org\r\nContent-Length:\r\n",
        ] {
            assert_eq!(read_head(head(more).as_bytes()), Err(BadRequest::Malformed), "{more}");
        }
        assert!(read_head(head("Host: GOOD.org.\r\n").as_bytes()).is_ok(), "the same host");
        let old = b"POST http://good.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(read_head(old), Err(BadRequest::Malformed), "a host of HTTP/1.0 does not know chunks");
    }

    #[test]
    fn chunks_end_where_the_body_does() {
        let body = b"3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n";
        let more = [&body[..], b"GET http://other/ HTTP/1.1\r\n"].concat();
        for size in 1..more.len() {
            let mut chunks = Chunks::default();
            let (mut sent, mut is_over) = (0, false);
            for piece in more.chunks(size) {
                if !is_over {
                    let (count, over) = chunks.take(piece).expect("chunks");
                    (sent, is_over) = (sent + count, over);
                }
            }
            assert_eq!((sent, is_over), (body.len(), true), "in pieces of {size}");
        }
        for wrong in [
            &b"x\r\n"[..],
            b"3\r\nabcd",
            b"ffffffffffffffff\r\n",
            b"\r\n",
            b"3\nabc\r\n",
            b"3\r\nabc\n",
            b"3\rx\nabc",
            b"3 \r\nabc",
            b"+3\r\nabc",
            b"0x3\r\nabc",
            b"3;a\nb\r\nabc",
            b"0\r\n\n",
            b"0\r\nA: b\nGET / HTTP/1.1\r\n",
            b"0\r\n\r\r\n",
        ] {
            assert_eq!(Chunks::default().take(wrong), None, "{wrong:?}");
        }
    }
}

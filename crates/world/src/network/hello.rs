//! The server name that a program asks for in the first message of TLS.

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FirstBytes {
    /// Too few to tell.
    Incomplete,
    NotTls,
    /// A whole first message, with the name in it.
    Hello(Option<String>),
    /// It begins as TLS and cannot be read.
    Broken,
}

/// More than a first message has, with large keys and tickets.
pub(super) const LONGEST_HELLO: usize = 64 * 1024;

const HANDSHAKE: u8 = 0x16;
/// The sorts of records of TLS. One of another sort before the first message is not refused by every server, so the message
/// after it would be read there and not here.
const FIRST_SORT: u8 = 0x14;
const LAST_SORT: u8 = 0x18;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Reads the first bytes of a connection.
pub(super) fn read_first(bytes: &[u8]) -> FirstBytes {
    match bytes {
        [] | [FIRST_SORT..=LAST_SORT] => return FirstBytes::Incomplete,
        [HANDSHAKE, 3, ..] => {}
        [FIRST_SORT..=LAST_SORT, 3, ..] => return FirstBytes::Broken,
        _ => return FirstBytes::NotTls,
    }
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        // A record: its sort, its version, its length, and its content. A message may be split among several.
        let [sort, _, _, high, low, content @ ..] = rest else { return incomplete(bytes) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if *sort != HANDSHAKE || length == 0 {
            return FirstBytes::Broken;
        }
        let (here, next) = content.split_at(length.min(content.len()));
        message.extend_from_slice(here);
        if let Some(whole) = whole_message(&message) {
            return match whole {
                Some(body) => server_name(body).map_or(FirstBytes::Broken, FirstBytes::Hello),
                None => FirstBytes::Broken,
            };
        }
        if here.len() < length {
            return incomplete(bytes);
        }
        rest = next;
    }
}

fn incomplete(bytes: &[u8]) -> FirstBytes {
    if bytes.len() >= LONGEST_HELLO { FirstBytes::Broken } else { FirstBytes::Incomplete }
}

/// The body of the message once it is whole; `Some(None)` if it is not the first message of a client.
fn whole_message(message: &[u8]) -> Option<Option<&[u8]>> {
    let [sort, a, b, c, body @ ..] = message else { return None };
    let length = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).unwrap_or(usize::MAX);
    if *sort != CLIENT_HELLO || length > LONGEST_HELLO {
        return Some(None);
    }
    body.get(..length).map(Some)
}

/// The name in the message; nothing at all if the message cannot be read.
fn server_name(body: &[u8]) -> Option<Option<String>> {
    let mut body = Bytes(body);
    body.take(2 + 32)?;
    body.take_short()?;
    body.take_long()?;
    body.take_short()?;
    if body.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Bytes(body.take_long()?);
    let mut name = None;
    while !extensions.0.is_empty() {
        let sort = extensions.number()?;
        let content = extensions.take_long()?;
        if sort != SERVER_NAME {
            continue;
        }
        // Who reads the first and who reads the last must find the same.
        if name.is_some() {
            return None;
        }
        let mut names = Bytes(Bytes(content).take_long()?);
        let sort = names.take(1)?;
        let host = names.take_long()?;
        if sort != [HOST_NAME] || !names.0.is_empty() {
            return None;
        }
        name = Some(std::str::from_utf8(host).ok().filter(|host| host.is_ascii() && !host.is_empty())?.to_owned());
    }
    Some(name)
}

/// What is still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// What has its length in one byte before it.
    fn take_short(&mut self) -> Option<&'a [u8]> {
        let length = self.take(1)?[0];
        self.take(usize::from(length))
    }

    /// What has its length in two bytes before it.
    fn take_long(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::from(length))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn extension(sort: u16, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).expect("short");
        [&sort.to_be_bytes()[..], &length.to_be_bytes(), content].concat()
    }

    fn name_extension(name: &[u8]) -> Vec<u8> {
        let length = u16::try_from(name.len()).expect("short");
        let entry = [&[0][..], &length.to_be_bytes(), name].concat();
        let list = u16::try_from(entry.len()).expect("short");
        extension(0, &[&list.to_be_bytes()[..], &entry].concat())
    }

    /// A first message with these extensions.
    fn message(extensions: &[u8]) -> Vec<u8> {
        let length = u16::try_from(extensions.len()).expect("short");
        let body = [&[3, 3][..], &[7; 32], &[0], &[0, 2, 0x13, 1], &[1, 0], &length.to_be_bytes(), extensions].concat();
        let length = u32::try_from(body.len()).expect("short").to_be_bytes();
        [&[1][..], &length[1..], &body].concat()
    }

    fn record(content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).expect("short");
        [&[0x16, 3, 1][..], &length.to_be_bytes(), content].concat()
    }

    pub(in super::super) fn hello(name: Option<&str>) -> Vec<u8> {
        let padding = extension(21, &[0; 40]);
        let names = name.map(|name| name_extension(name.as_bytes())).unwrap_or_default();
        record(&message(&[padding, names].concat()))
    }

    #[test]
    fn the_name_is_found_whole_and_however_it_is_split() {
        let whole = hello(Some("example.org"));
        let found = FirstBytes::Hello(Some("example.org".into()));
        assert_eq!(read_first(&whole), found);
        for cut in 0..whole.len() {
            assert_eq!(read_first(&whole[..cut]), FirstBytes::Incomplete, "cut at {cut}");
        }
        let content = &whole[5..];
        let in_records: Vec<u8> = content.chunks(7).flat_map(record).collect();
        assert_eq!(read_first(&in_records), found);
        let with_more = [whole, vec![1, 2, 3]].concat();
        assert_eq!(read_first(&with_more), found);
        assert_eq!(read_first(&hello(None)), FirstBytes::Hello(None));
    }

    #[test]
    fn what_two_readers_could_read_differently_is_broken() {
        let twice = [name_extension(b"a.org"), name_extension(b"b.org")].concat();
        assert_eq!(read_first(&record(&message(&twice))), FirstBytes::Broken);
        let entry = |name: &[u8]| [&[0, 0, u8::try_from(name.len()).expect("short")][..], name].concat();
        let both = [entry(b"a.org"), entry(b"b.org")].concat();
        let list = [&u16::try_from(both.len()).expect("short").to_be_bytes()[..], &both].concat();
        assert_eq!(read_first(&record(&message(&extension(0, &list)))), FirstBytes::Broken);
        assert_eq!(read_first(&record(&message(&name_extension(b"")))), FirstBytes::Broken);
        assert_eq!(read_first(&record(&message(&name_extension(b"\xff.org")))), FirstBytes::Broken);
        assert_eq!(read_first(&record(&message(&[0, 0, 0xff, 0xff]))), FirstBytes::Broken);
        let mut other = hello(Some("example.org"));
        other[5] = 2;
        assert_eq!(read_first(&other), FirstBytes::Broken, "not the message of a client");
        assert_eq!(read_first(&[0x16, 3, 1, 0, 0]), FirstBytes::Broken, "an empty record");
        for sort in [0x14, 0x15, 0x17, 0x18] {
            let before = [&[sort, 3, 1, 0, 2, 1, 0][..], &hello(Some("example.org"))].concat();
            assert_eq!(read_first(&before), FirstBytes::Broken, "a record of another sort first");
        }
        assert_eq!(read_first(&[0x16, 3, 1, 0, 9, 1, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0]), FirstBytes::Broken);
    }

    #[test]
    fn other_protocols_are_not_tls() {
        for bytes in [&b"SSH-2.0-x\r\n"[..], b"GET / HTTP/1.1\r\n", b"\x16\x02xx", b"\x80\x2e\x01"] {
            assert_eq!(read_first(bytes), FirstBytes::NotTls);
        }
        let endless: Vec<u8> = std::iter::repeat_n(record(&[1]), 1).flatten().chain(record(&[0; 3])).collect();
        assert_eq!(read_first(&endless), FirstBytes::Broken, "a message without content");
    }
}

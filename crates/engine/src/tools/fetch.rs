//! Fetches web pages.

use std::net::{IpAddr, Ipv4Addr};

use serde::Deserialize;
use trimtab_vocab::event::{Stage, StageFact};
use trimtab_vocab::wording::StageLabel;

use super::{BuiltInTool, ToolAction, WEB, arguments};

pub(super) const FETCH: BuiltInTool = BuiltInTool {
    name: "fetch_url",
    description: "Get a web page or a text file as text. Asks the user once per host.",
    schema: r#"{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}"#,
    // The server sees the request, so it is not read-only.
    read_only: false,
    category: Some(WEB),
    read: |input| {
        #[derive(Deserialize)]
        struct FetchUrlArguments {
            url: String,
        }
        let FetchUrlArguments { url } = arguments(input)?;
        let host = host_of(&url).ok_or("only http:// and https:// addresses can be fetched.")?;
        Ok(ToolAction::Fetch { url, host })
    },
};

/// Whose page an address is, with its port if it names one. What is not plainly told is not told: an
/// address with a name and a password, or with odd characters before its path, has no host here.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    (!host.is_empty() && host.chars().all(plain)).then(|| normal(&host.to_ascii_lowercase()))
}

/// A host as everybody reads it: `2130706433`, `0x7f.1` and `127.0.0.1.` are 127.0.0.1. This is the spelling that is
/// asked about and that rules name.
fn normal(host: &str) -> String {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') && !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let name = number(name).map_or_else(|| name.to_owned(), |address| address.to_string());
    port.map_or_else(|| name.clone(), |port| format!("{name}:{port}"))
}

/// The address that a host of numbers is, in each of the forms that browsers and libraries take.
fn number(name: &str) -> Option<Ipv4Addr> {
    let part = |part: &str| match part.strip_prefix("0x") {
        Some("") => Some(0),
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let parts: Vec<u64> = name.split('.').map(part).collect::<Option<_>>()?;
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    let room = 8 * (4 - u32::try_from(first.len()).ok()?);
    let fits = first.iter().all(|part| *part < 256) && *last < 1 << room;
    let high = first.iter().fold(0, |high, part| (high << 8) | part);
    u32::try_from((high << room) | last).ok().filter(|_| fits).map(Ipv4Addr::from)
}

/// What the user should know of a host by how it is written.
pub(crate) fn remark(host: &str) -> Option<&'static str> {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') && !port.contains(']') => name,
        _ => host,
    };
    let near = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_loopback() || address.is_unspecified() => return Some("this machine"),
        Ok(IpAddr::V6(address)) if address.is_loopback() || address.is_unspecified() => return Some("this machine"),
        Ok(IpAddr::V4(address)) => address.is_private() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.is_unique_local() || address.is_unicast_link_local(),
        Err(_) if name == "localhost" || name.ends_with(".localhost") => return Some("this machine"),
        Err(_) => !name.contains('.') || [".local", ".internal", ".lan"].iter().any(|end| name.ends_with(end)),
    };
    near.then_some("a private network")
}

/// What the user reads while a page is fetched.
pub(crate) fn interrogating(stage: Stage, host: &str) -> StageFact {
    StageFact { stage, label: StageLabel::Interrogating(host.to_owned()).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_only_where_it_is_plain() {
        for (url, host) in [
            ("https://Example.org/a?b#c", Some("example.org")),
            ("http://127.0.0.1:8000", Some("127.0.0.1:8000")),
            ("https://example.org?x", Some("example.org")),
            ("ftp://example.org", None),
            ("https://user:pw@example.org/", None),
            ("https://good.org\\@evil.org/", None),
            ("https:///x", None),
            ("file:///etc/passwd", None),
            ("http://2130706433:80/", Some("127.0.0.1:80")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("http://0177.0.0.1/", Some("127.0.0.1")),
            ("http://10.1/", Some("10.0.0.1")),
            ("http://127.0.0.1./", Some("127.0.0.1")),
            ("http://[::1]:8000/", Some("[::1]:8000")),
            ("http://1.2.3.4.5/", Some("1.2.3.4.5")),
            ("http://256.1.1.1/", Some("256.1.1.1")),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn a_private_network_is_remarked() {
        for (host, said) in [
            ("127.0.0.1:80", Some("this machine")),
            ("[::1]:80", Some("this machine")),
            ("localhost:3000", Some("this machine")),
            ("10.0.0.1", Some("a private network")),
            ("[fd00::1]", Some("a private network")),
            ("nas", Some("a private network")),
            ("example.org:8080", None),
            ("8.8.8.8", None),
        ] {
            assert_eq!(remark(host), said, "{host}");
        }
    }
}

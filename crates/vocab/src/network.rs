//! Hosts that commands may reach, and hosts that they tried to reach.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::{Rule, RuleVerdict, SessionId};

/// Whether sandboxed commands can reach hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// None at all.
    #[default]
    Off,
    /// Hosts that a rule or an answer of the user allows.
    Ask,
    /// All hosts on the public internet.
    On,
}

impl NetworkAccess {
    pub(crate) fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// The hosts that one command may reach. A pattern is a host, `*.` and a domain, an IP address, or a range such as
/// `10.0.0.0/8`; a port may follow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostPolicy {
    pub access: NetworkAccess,
    /// Patterns that rules allow.
    pub allowed: Vec<String>,
    /// Patterns that the user allowed for this command.
    pub once: Vec<String>,
    /// Patterns that rules deny.
    pub denied: Vec<String>,
    /// Patterns that rules have asked about, even if other rules allow them.
    pub asked: Vec<String>,
}

/// What the policy says about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostVerdict {
    Allowed,
    /// A rule with this pattern denies it.
    Denied(String),
    /// No rule speaks of it.
    Unruled,
}

impl HostPolicy {
    /// The tool's name in rules about hosts.
    pub const TOOL: &str = "network";

    /// The policy that these rules make in a folder.
    pub fn new(access: NetworkAccess, rules: &[Rule], folder: Option<&str>) -> Self {
        let patterns = |verdict: RuleVerdict| {
            let here = |rule: &&Rule| rule.folder.is_none() || rule.folder.as_deref() == folder;
            let about = |rule: &&Rule| rule.tool == Self::TOOL && rule.verdict == verdict;
            rules.iter().filter(about).filter(here).map(|rule| rule.pattern.clone()).collect()
        };
        Self {
            access,
            allowed: patterns(RuleVerdict::Allow),
            once: Vec::new(),
            denied: patterns(RuleVerdict::Deny),
            asked: patterns(RuleVerdict::Ask),
        }
    }

    /// What becomes of a host, before it is looked up: an unruled name is not even sent to a name server.
    pub fn judge(&self, host: &str, port: u16) -> HostVerdict {
        let host = plain_host(host);
        let first = |patterns: &[String]| patterns.iter().find(|pattern| covers(pattern, &host, port)).cloned();
        let denied = host.parse().ok().and_then(|address| self.denying(address, port));
        if let Some(pattern) = first(&self.denied).or_else(|| denied.cloned()) {
            return HostVerdict::Denied(pattern);
        }
        if self.access == NetworkAccess::Off {
            return HostVerdict::Unruled;
        }
        if first(&self.once).is_some() {
            return HostVerdict::Allowed;
        }
        let is_allowed = self.access == NetworkAccess::On || first(&self.allowed).is_some();
        match is_allowed && first(&self.asked).is_none() {
            true => HostVerdict::Allowed,
            false => HostVerdict::Unruled,
        }
    }

    /// Whether a host that may be reached may be reached at this address. A name says nothing about where it leads, so an
    /// address that is not public must be named itself, by the address or a range that holds it.
    pub fn admits(&self, address: IpAddr, port: u16) -> bool {
        let address = plain_address(address);
        let is_named = self.allowed.iter().chain(&self.once).any(|pattern| names_address(pattern, address, port));
        self.denying(address, port).is_none() && (AddressRange::of(address).is_none() || is_named)
    }

    /// The pattern that denies an address, in whichever form it is written.
    fn denying(&self, address: IpAddr, port: u16) -> Option<&String> {
        let forms = [Some(plain_address(address)), carried_address(address).map(IpAddr::V4)];
        self.denied.iter().find(|pattern| forms.iter().flatten().any(|form| names_address(pattern, *form, port)))
    }
}

/// Whether a pattern names an address itself, and not only a host that may lead there.
fn names_address(pattern: &str, address: IpAddr, port: u16) -> bool {
    HostPattern::parse(pattern).is_some_and(|pattern| match &pattern.place {
        Place::Range(..) => pattern.covers_address(address, port),
        Place::Host(host) => host == "localhost" && address.is_loopback() && pattern.takes(port),
        Place::Below(_) | Place::Any => false,
    })
}

/// The network of a command: whose commands share it, and what they may reach outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPlan {
    pub session: SessionId,
    pub policy: HostPolicy,
}

/// A host that a command tried to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HostAttempt {
    pub host: String,
    pub port: u16,
    pub outcome: HostOutcome,
    /// The address that it leads to, where that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// What became of an attempt to reach a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostOutcome {
    Reached,
    /// No rule allows it.
    NoRule,
    /// A rule denies it.
    Denied,
    /// It leads to an address that is not public, and no rule names that address.
    NotPublic,
    /// The connection asked for another host than the proxy was asked for.
    Mismatch,
    /// It may be reached and could not be.
    Failed,
    /// An outcome of a newer version.
    #[serde(other)]
    Unknown,
}

impl HostAttempt {
    /// The pattern of a rule that would let it through, if one would. Where the address is not public, it has the port: the
    /// other ports of that machine are other services, which the user has not seen.
    pub fn missing_rule(&self) -> Option<String> {
        let host = match self.outcome {
            HostOutcome::NoRule => &self.host,
            HostOutcome::NotPublic => self.address.as_ref()?,
            _ => return None,
        };
        let address = host.parse::<IpAddr>().ok();
        let is_public = address.map_or(host != "localhost", |address| AddressRange::of(address).is_none());
        Some(match (is_public, address) {
            (true, _) => host.clone(),
            (false, Some(IpAddr::V6(address))) => format!("[{address}]:{}", self.port),
            (false, _) => format!("{host}:{}", self.port),
        })
    }
}

impl HostAttempt {
    /// The range of its address, if it is known and not public.
    pub fn range(&self) -> Option<AddressRange> {
        AddressRange::of(self.address.as_deref().unwrap_or(&self.host).parse().ok()?)
    }
}

/// The ranges of addresses that are not on the public internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressRange {
    Loopback,
    Private,
    /// It includes the addresses at which clouds give out the keys of their machines.
    LinkLocal,
    /// Between a provider and its customers.
    Shared,
    Multicast,
    Reserved,
}

impl AddressRange {
    /// The range of an address; none for a public one.
    pub fn of(address: IpAddr) -> Option<Self> {
        match plain_address(address) {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Option<Self> {
        let octets = address.octets();
        Some(match octets {
            _ if address.is_loopback() || address.is_unspecified() => Self::Loopback,
            _ if address.is_private() => Self::Private,
            _ if address.is_link_local() => Self::LinkLocal,
            [100, 64..=127, ..] => Self::Shared,
            _ if address.is_multicast() => Self::Multicast,
            [0, ..] | [240..=255, ..] | [192, 0, 0, _] | [198, 18..=19, ..] => Self::Reserved,
            _ if address.is_documentation() => Self::Reserved,
            // Relays from IPv6, which no longer exist.
            [192, 88, 99, _] => Self::Reserved,
            // Where clouds answer besides the link-local addresses.
            [168, 63, 129, 16] => Self::LinkLocal,
            _ => return None,
        })
    }

    fn of_v6(address: Ipv6Addr) -> Option<Self> {
        let parts = address.segments();
        if let (Some(carried), false) =
            (carried_address(IpAddr::V6(address)), address.is_loopback() || address.is_unspecified())
        {
            return Self::of_v4(carried);
        }
        Some(match parts {
            _ if address.is_loopback() || address.is_unspecified() => Self::Loopback,
            _ if address.is_unique_local() => Self::Private,
            _ if address.is_unicast_link_local() => Self::LinkLocal,
            _ if address.is_multicast() => Self::Multicast,
            [0x64, 0xff9b, 1, ..] | [0x2001, 0..=0x01ff, ..] | [0x2001, 0xdb8, ..] | [0xfec0..=0xfeff, ..] => {
                Self::Reserved
            }
            // Everything public is in here today.
            [0x2000..=0x3fff, ..] => return None,
            _ => Self::Reserved,
        })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "this machine",
            Self::Private => "a private network",
            Self::LinkLocal => "a link-local address",
            Self::Shared => "a network of the provider",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
        })
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

/// The IPv4 address that one of IPv6 carries: behind a translator, in a tunnel, and in the form that is compatible with the old
/// one.
fn carried_address(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else { return None };
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] | [0, 0, 0, 0, 0, 0, high, low] => {
            Some(joined(high, low))
        }
        _ => None,
    }
}

/// An IPv4 address that is written as one of IPv6 is that IPv4 address.
fn plain_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// A host as rules name it: lower case, without dots at its end and without brackets.
pub fn plain_host(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => plain_address(address).to_string(),
        Err(_) => host.trim_end_matches('.').to_ascii_lowercase(),
    }
}

/// Why a pattern of a rule about hosts cannot be used, if it cannot.
pub fn host_pattern_objection(pattern: &str) -> Option<&'static str> {
    HostPattern::parse(pattern).is_none().then_some(
        "Name a host (example.org), a domain (*.example.org), an IP address, or a range (10.0.0.0/8). A port may follow.",
    )
}

fn covers(pattern: &str, host: &str, port: u16) -> bool {
    HostPattern::parse(pattern).is_some_and(|pattern| pattern.covers(host, port))
}

/// A pattern that was read.
struct HostPattern {
    place: Place,
    port: Option<u16>,
}

enum Place {
    Any,
    Host(String),
    /// All names below this one.
    Below(String),
    /// The first bits of an address.
    Range(IpAddr, u32),
}

impl HostPattern {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (place, port) = match text.rsplit_once(':') {
            // More than one colon without brackets is an address.
            Some((place, port)) if !place.contains(':') || place.ends_with(']') => (place, Some(port.parse().ok()?)),
            _ => (text, None),
        };
        if place == "*" {
            return Some(Self { place: Place::Any, port });
        }
        let place = plain_host(place);
        let place = match place.split_once('/') {
            Some((address, bits)) => {
                let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse().ok()?);
                let bits = Some(bits).filter(|bits| *bits <= width(address))?;
                // A range of IPv4 addresses that is written as one of IPv6.
                match (plain_address(address), bits) {
                    (plain @ IpAddr::V4(_), 96..) if address.is_ipv6() => Place::Range(plain, bits - 96),
                    (_, bits) => Place::Range(address, bits),
                }
            }
            None => match (place.parse::<IpAddr>(), place.strip_prefix("*.")) {
                (Ok(address), _) => Place::Range(address, width(address)),
                (_, Some(domain)) => Place::Below(is_name(domain).then(|| domain.to_owned())?),
                (_, None) => Place::Host(is_name(&place).then(|| place.clone())?),
            },
        };
        Some(Self { place, port })
    }

    fn takes(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        let is_there = match &self.place {
            Place::Any => true,
            Place::Host(name) => name == host,
            Place::Below(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Place::Range(..) => host.parse().is_ok_and(|address| self.covers_address(address, port)),
        };
        is_there && self.takes(port)
    }

    fn covers_address(&self, address: IpAddr, port: u16) -> bool {
        let Place::Range(base, bits) = &self.place else { return false };
        let is_in = match (base, plain_address(address)) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                u128::from(base.to_bits() ^ address.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                (base.to_bits() ^ address.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
            }
            _ => false,
        };
        is_in && self.takes(port)
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Whether a text can be the name of a host.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowing(patterns: &[&str]) -> HostPolicy {
        let allowed = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        HostPolicy { access: NetworkAccess::Ask, allowed, ..HostPolicy::default() }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_host_is_allowed_by_its_name_a_domain_an_address_or_a_range() {
        let policy = allowing(&["example.org", "*.pkg.dev", "10.0.0.0/8", "192.0.2.7:8080", "Upper.Example.NET."]);
        for (host, port) in [
            ("example.org", 443),
            ("EXAMPLE.org.", 80),
            ("a.pkg.dev", 443),
            ("a.b.pkg.dev", 443),
            ("10.9.8.7", 22),
            ("::ffff:10.9.8.7", 22),
            ("[::ffff:10.9.8.7]", 22),
            ("192.0.2.7", 8080),
            ("upper.example.net", 1),
        ] {
            assert_eq!(policy.judge(host, port), HostVerdict::Allowed, "{host}:{port}");
        }
        for (host, port) in [
            ("www.example.org", 443),
            ("notexample.org", 443),
            ("example.org.evil.net", 443),
            ("pkg.dev", 443),
            (".pkg.dev", 443),
            ("evilpkg.dev", 443),
            ("11.0.0.1", 22),
            ("192.0.2.7", 80),
            ("", 443),
            ("2130706433", 80),
            ("exam\u{0440}le.org", 443),
        ] {
            assert_eq!(policy.judge(host, port), HostVerdict::Unruled, "{host}:{port}");
        }
    }

    #[test]
    fn deny_beats_once_beats_ask_beats_allow_and_on_means_public_hosts() {
        let mut policy = allowing(&["*.example.org"]);
        policy.asked = vec!["asked.example.org".into()];
        policy.denied = vec!["bad.example.org".into()];
        policy.once = vec!["asked.example.org".into(), "bad.example.org".into()];
        assert_eq!(policy.judge("asked.example.org", 443), HostVerdict::Allowed);
        assert_eq!(policy.judge("bad.example.org", 443), HostVerdict::Denied("bad.example.org".into()));
        policy.once.clear();
        assert_eq!(policy.judge("asked.example.org", 443), HostVerdict::Unruled);
        policy.access = NetworkAccess::On;
        assert_eq!(policy.judge("other.net", 443), HostVerdict::Allowed);
        assert_eq!(policy.judge("bad.example.org", 443), HostVerdict::Denied("bad.example.org".into()));
        assert!(policy.admits(address("93.184.216.34"), 443) && !policy.admits(address("127.0.0.1"), 443));
        assert!(!policy.admits(address("169.254.169.254"), 80));
        policy.access = NetworkAccess::Off;
        assert_eq!(policy.judge("a.example.org", 443), HostVerdict::Unruled);
    }

    #[test]
    fn a_name_does_not_open_an_address_that_is_not_public() {
        let named = allowing(&["rebind.example.org", "*.example.org", "*"]);
        let places = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "fe80::1", "::ffff:127.0.0.1"];
        for place in places {
            assert!(!named.admits(address(place), 80), "{place}");
        }
        let exact = allowing(&["127.0.0.1:8080", "10.1.0.0/16", "::1"]);
        assert!(exact.admits(address("127.0.0.1"), 8080) && !exact.admits(address("127.0.0.1"), 8081));
        assert!(exact.admits(address("10.1.2.3"), 1) && !exact.admits(address("10.2.2.3"), 1));
        assert!(exact.admits(address("::1"), 1) && exact.admits(address("::ffff:127.0.0.1"), 8080));
        assert!(allowing(&["localhost"]).admits(address("127.0.0.1"), 80));
        assert!(!allowing(&["localhost"]).admits(address("10.0.0.1"), 80));
        for range in ["93.184.0.0/16", "::ffff:93.184.0.0/112"] {
            let denied = HostPolicy { denied: vec![range.into()], ..allowing(&["*"]) };
            for form in ["93.184.216.34", "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1"] {
                assert!(!denied.admits(address(form), 443), "a denied address, under any name: {form}");
                assert_eq!(denied.judge(form, 443), HostVerdict::Denied(range.into()), "{form}");
            }
        }
    }

    #[test]
    fn a_denied_name_is_denied_however_it_is_written() {
        let denied = HostPolicy { denied: vec!["evil.org".into(), "*.evil.net".into()], ..allowing(&["*"]) };
        for name in ["evil.org", "EVIL.ORG", "evil.org.", "evil.org..", "a.Evil.Net.", "a.b.evil.net..."] {
            assert!(matches!(denied.judge(name, 443), HostVerdict::Denied(_)), "{name}");
        }
        assert_eq!(denied.judge("good.org", 443), HostVerdict::Allowed);
    }

    #[test]
    fn an_answer_about_an_address_that_is_not_public_is_about_one_port() {
        let rule = |host: &str, outcome, address: Option<&str>| {
            let address = address.map(str::to_owned);
            HostAttempt { host: host.into(), port: 8080, outcome, address }.missing_rule().expect("a rule")
        };
        for (host, outcome, leads_to, expected) in [
            ("example.org", HostOutcome::NoRule, None, "example.org"),
            ("93.184.216.34", HostOutcome::NoRule, None, "93.184.216.34"),
            ("127.0.0.1", HostOutcome::NoRule, None, "127.0.0.1:8080"),
            ("localhost", HostOutcome::NoRule, None, "localhost:8080"),
            ("::1", HostOutcome::NoRule, None, "[::1]:8080"),
            ("evil.org", HostOutcome::NotPublic, Some("10.0.0.7"), "10.0.0.7:8080"),
            ("evil.org", HostOutcome::NotPublic, Some("fd00::7"), "[fd00::7]:8080"),
        ] {
            let rule = rule(host, outcome, leads_to);
            assert_eq!(rule, expected);
            let policy = allowing(&[&rule]);
            let reached = leads_to.unwrap_or(host);
            let is_address = reached.parse::<IpAddr>().is_ok_and(|address| AddressRange::of(address).is_some());
            assert!(!is_address || policy.admits(address(reached), 8080) && !policy.admits(address(reached), 6379));
        }
    }

    #[test]
    fn every_range_that_is_not_public_is_known() {
        use AddressRange::*;
        for (text, range) in [
            ("127.0.0.1", Some(Loopback)),
            ("127.255.255.255", Some(Loopback)),
            ("0.0.0.0", Some(Loopback)),
            ("0.1.2.3", Some(Reserved)),
            ("10.0.0.1", Some(Private)),
            ("172.16.0.1", Some(Private)),
            ("172.32.0.1", None),
            ("192.168.1.1", Some(Private)),
            ("169.254.169.254", Some(LinkLocal)),
            ("168.63.129.16", Some(LinkLocal)),
            ("100.64.0.1", Some(Shared)),
            ("100.100.100.200", Some(Shared)),
            ("100.128.0.1", None),
            ("192.0.0.192", Some(Reserved)),
            ("192.0.2.1", Some(Reserved)),
            ("198.18.0.1", Some(Reserved)),
            ("198.51.100.1", Some(Reserved)),
            ("203.0.113.1", Some(Reserved)),
            ("224.0.0.1", Some(Multicast)),
            ("239.255.255.250", Some(Multicast)),
            ("240.0.0.1", Some(Reserved)),
            ("255.255.255.255", Some(Reserved)),
            ("8.8.8.8", None),
            ("::", Some(Loopback)),
            ("::1", Some(Loopback)),
            ("::ffff:127.0.0.1", Some(Loopback)),
            ("::ffff:10.0.0.1", Some(Private)),
            ("::ffff:8.8.8.8", None),
            ("::10.0.0.1", Some(Private)),
            ("64:ff9b::7f00:1", Some(Loopback)),
            ("64:ff9b::808:808", None),
            ("64:ff9b:1::1", Some(Reserved)),
            ("2002:7f00:1::", Some(Loopback)),
            ("2002:a9fe:a9fe::", Some(LinkLocal)),
            ("2001::1", Some(Reserved)),
            ("2001:db8::1", Some(Reserved)),
            ("fd00:ec2::254", Some(Private)),
            ("fe80::1", Some(LinkLocal)),
            ("fec0::1", Some(Reserved)),
            ("ff02::1", Some(Multicast)),
            ("100::1", Some(Reserved)),
            ("5f00::1", Some(Reserved)),
            ("2606:2800:220:1:248:1893:25c8:1946", None),
        ] {
            assert_eq!(AddressRange::of(address(text)), range, "{text}");
        }
    }

    #[test]
    fn a_pattern_that_means_nothing_is_refused() {
        for good in ["example.org", "*.example.org", "*", "a_b.c", "127.0.0.1:80", "::1", "[::1]:80", "10.0.0.0/8"] {
            assert_eq!(host_pattern_objection(good), None, "{good}");
        }
        for bad in [
            "",
            "http://example.org",
            "ex ample",
            "a..b",
            "*.*.org",
            "exa*",
            "a:b",
            "10.0.0.0/33",
            "a/8",
            "*.",
            "x:99999",
        ] {
            assert!(host_pattern_objection(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn rules_of_other_folders_and_tools_do_not_count() {
        let rule = |verdict, tool: &str, pattern: &str, folder: Option<&str>| Rule {
            verdict,
            tool: tool.into(),
            pattern: pattern.into(),
            folder: folder.map(str::to_owned),
        };
        let rules = [
            rule(RuleVerdict::Allow, "network", "a.org", Some("/p")),
            rule(RuleVerdict::Allow, "network", "b.org", Some("/q")),
            rule(RuleVerdict::Allow, "fetch_url", "c.org", None),
            rule(RuleVerdict::Deny, "network", "d.org", None),
        ];
        let policy = HostPolicy::new(NetworkAccess::Ask, &rules, Some("/p"));
        assert_eq!((policy.allowed, policy.denied), (vec!["a.org".to_owned()], vec!["d.org".to_owned()]));
    }
}

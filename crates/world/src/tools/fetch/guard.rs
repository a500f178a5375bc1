//! The addresses that a fetch may contact.
//!
//! The caller asks the user about each host by name. The name does not show whether it leads to an address where a
//! cloud serves its keys, or to this machine.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::super::ReadRefusal;

/// The time limit for the lookup of a name before a proxy is used.
const LONGEST_LOOKUP: Duration = Duration::from_secs(3);

/// Who knows where names lead.
#[derive(Debug, Clone)]
pub(super) enum NameLookup {
    /// The machine.
    System,
    /// A test.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests know where every name leads"))]
    Known(Arc<HashMap<String, Vec<IpAddr>>>),
}

/// Looks names up, and lets no forbidden address through.
#[derive(Debug, Clone)]
pub(super) struct AddressGuard(NameLookup);

impl AddressGuard {
    pub(super) fn new(names: NameLookup) -> Self {
        Self(names)
    }

    /// Refuses forbidden addresses before anything is sent. Returns whether the host is this machine.
    ///
    /// The resolver below sees each direct connection. A proxy resolves names itself, so the name is looked up here,
    /// too. A name that cannot be resolved is left to the proxy.
    pub(super) async fn check(&self, url: &Url) -> Result<bool, ReadRefusal> {
        let host = url.host_str().unwrap_or_default();
        let is_here = is_here(host);
        let addresses = match literal(host) {
            Some(address) => vec![address],
            None => {
                let found = tokio::time::timeout(LONGEST_LOOKUP, lookup(&self.0, host)).await;
                found.ok().and_then(Result::ok).unwrap_or_default()
            }
        };
        addresses.into_iter().try_for_each(|address| allow(host, address, is_here)).map_err(ReadRefusal)?;
        Ok(is_here)
    }
}

impl Resolve for AddressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0.clone();
        Box::pin(async move {
            let found = lookup(&names, name.as_str()).await?;
            let is_here = is_here(name.as_str());
            for address in &found {
                allow(name.as_str(), *address, is_here).map_err(Forbidden)?;
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

async fn lookup(names: &NameLookup, host: &str) -> io::Result<Vec<IpAddr>> {
    match names {
        NameLookup::System => Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()),
        NameLookup::Known(known) => known.get(host).cloned().ok_or_else(|| io::Error::other("no such name")),
    }
}

/// Why a resolver refused; carried through the client's errors.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Forbidden(String);

/// The sentence with which the resolver refused, if that is what went wrong.
pub(super) fn refused(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(Forbidden(why)) = cause.downcast_ref() {
            return Some(why.clone());
        }
        next = cause.source();
    }
    None
}

/// Refuses an address that is forbidden as written. Makes no lookup, because the user has not approved the name yet.
pub(super) fn check_literal(url: &Url) -> Result<(), ReadRefusal> {
    let host = url.host_str().unwrap_or_default();
    literal(host).map_or(Ok(()), |address| allow(host, address, is_here(host))).map_err(ReadRefusal)
}

/// Whether an address may be spoken to under a name.
pub(super) fn allow(host: &str, address: IpAddr, is_here: bool) -> Result<(), String> {
    allow_at_all(host, address)?;
    let address = plain(address);
    let leads_here = address.is_loopback() || address.is_unspecified();
    if leads_here && !is_here {
        return Err(format!(
            "{host} resolves to this machine ({address}). \
             To fetch from it, use http://localhost with the port."
        ));
    }
    Ok(())
}

/// Whether an address may be spoken to under any name.
pub(super) fn allow_at_all(host: &str, address: IpAddr) -> Result<(), String> {
    if is_metadata(plain(address)) {
        return Err(format!(
            "{host} is or resolves to a link-local address, where cloud machines get their credentials. \
             It is never fetched."
        ));
    }
    Ok(())
}

/// A host that says of itself that it is this machine.
fn is_here(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let by_name = name == "localhost" || name.ends_with(".localhost");
    by_name || literal(host).map(plain).is_some_and(|address| address.is_loopback() || address.is_unspecified())
}

/// Whether a host is this machine or in a private network, as written.
pub(super) fn is_near(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    match literal(&name).map(plain) {
        Some(IpAddr::V4(address)) => {
            address.is_loopback() || address.is_private() || address.is_link_local() || address.is_unspecified()
        }
        Some(IpAddr::V6(address)) => {
            address.is_loopback()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_unspecified()
        }
        None => {
            let inside = [".local", ".localhost", ".internal", ".lan"];
            !name.contains('.') || inside.iter().any(|end| name.ends_with(end))
        }
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// The address that is meant by one that wraps another.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(wide) = address else { return address };
    let [.., high, low] = wide.segments();
    let inner = Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    let is_wrapped = match wide.segments() {
        // Mapped, compatible, and translated by a network that speaks only the new protocol.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => true,
        [0, 0, 0, 0, 0, 0, ..] => wide != Ipv6Addr::LOCALHOST && wide != Ipv6Addr::UNSPECIFIED,
        _ => false,
    };
    match wide.segments() {
        // 6to4 has it at its beginning.
        [0x2002, high, low, ..] => Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)).into(),
        _ if is_wrapped => inner.into(),
        _ => address,
    }
}

/// Link-local addresses, where clouds answer for their machines, and those that lie elsewhere.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let elsewhere = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
            address.is_link_local() || elsewhere.contains(&address)
        }
        IpAddr::V6(address) => {
            let amazon = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
            let google = Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254);
            address.is_unicast_link_local() || address == amazon || address == google
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spelling_of_a_metadata_address_is_let_through() {
        for url in [
            "http://169.254.169.254/latest/meta-data/",
            "http://2852039166/",
            "http://0xa9.0xfe.0xa9.0xfe/",
            "http://0251.0376.0251.0376/",
            "http://169.254.1/",
            "http://[::ffff:169.254.169.254]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[::a9fe:a9fe]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[fe80::1]/",
            "http://[fd00:ec2::254]/",
            "http://100.100.100.200/",
            "http://192.0.0.192/",
            "http://[fd20:ce::254]/",
            "http://[2002:a9fe:a9fe::]/",
        ] {
            let url = Url::parse(url).expect("an address");
            let host = url.host_str().expect("a host");
            let address = literal(host).unwrap_or_else(|| panic!("{host} is no literal"));
            assert!(allow(host, address, is_here(host)).is_err(), "{url}");
        }
    }

    #[test]
    fn this_machine_is_reached_only_by_a_name_that_says_so() {
        for host in ["localhost", "LOCALHOST", "localhost.", "app.localhost", "127.0.0.1", "[::1]", "0.0.0.0"] {
            assert!(is_here(host), "{host}");
            assert!(allow(host, Ipv4Addr::LOCALHOST.into(), is_here(host)).is_ok(), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "10.0.0.1"] {
            assert!(!is_here(host), "{host}");
            assert!(allow(host, Ipv4Addr::LOCALHOST.into(), is_here(host)).is_err(), "{host}");
            assert!(allow(host, Ipv6Addr::LOCALHOST.into(), is_here(host)).is_err(), "{host}");
            assert!(allow(host, Ipv4Addr::new(10, 1, 2, 3).into(), is_here(host)).is_ok(), "{host}");
        }
    }
}

//! Ports that a command listens on, as the kernel lists them for its network.

use std::collections::{BTreeMap, BTreeSet};

/// The state of a listening socket in the kernel's lists.
const LISTENS: &str = "0A";

/// The ports with a listener in the network of a process. Empty if the process is gone or cannot be looked at.
pub fn listening_ports(pid: u32) -> BTreeSet<u16> {
    let lists = ["tcp", "tcp6"].map(|list| std::fs::read_to_string(format!("/proc/{pid}/net/{list}")));
    lists.iter().flatten().flat_map(|list| listed(list)).collect()
}

/// Processes of a command that are looked at.
const MOST_PROCESSES: usize = 4096;

/// The ports on which a process, or one that it has started, listens. Other commands of its session have the same network.
/// Empty if they cannot be looked at.
pub fn own_listening_ports(pid: u32) -> BTreeSet<u16> {
    let lists = ["tcp", "tcp6"].map(|list| std::fs::read_to_string(format!("/proc/{pid}/net/{list}")));
    let sockets: BTreeMap<u64, u16> = lists.iter().flatten().flat_map(|list| listed_sockets(list)).collect();
    if sockets.is_empty() {
        return BTreeSet::new();
    }
    let (mut found, mut left, mut seen) = (BTreeSet::new(), vec![pid], 0);
    while let Some(pid) = left.pop() {
        seen += 1;
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        found.extend(targets.filter_map(|target| sockets.get(&socket_number(target.to_str()?)?).copied()));
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        left.extend(
            children.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()),
        );
        if seen > MOST_PROCESSES {
            break;
        }
    }
    found
}

fn socket_number(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The numbers of listening sockets, with their ports.
fn listed_sockets(list: &str) -> impl Iterator<Item = (u64, u16)> + '_ {
    list.lines().skip(1).filter_map(|line| {
        let port = listed_line(line)?;
        Some((line.split_whitespace().nth(9)?.parse().ok()?, port))
    })
}

fn listed(list: &str) -> impl Iterator<Item = u16> + '_ {
    list.lines().skip(1).filter_map(listed_line)
}

fn listed_line(line: &str) -> Option<u16> {
    let mut fields = line.split_whitespace();
    let (local, state) = (fields.nth(1)?, fields.nth(1)?);
    let (_, port) = local.rsplit_once(':')?;
    (state == LISTENS).then(|| u16::from_str_radix(port, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listeners_count() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                    \x20  0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n\
                    \x20  1: 0100007F:0050 0100007F:9C40 01 00000000:00000000 00:00000000 00000000\n\
                    \x20  2: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 0 0\n\
                    broken\n";
        assert_eq!(listed(list).collect::<Vec<_>>(), [5173, 3000]);
    }

    #[test]
    fn a_port_of_this_process_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(listening_ports(std::process::id()).contains(&port));
        assert!(own_listening_ports(std::process::id()).contains(&port));
        let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("another process");
        assert!(!own_listening_ports(other.id()).contains(&port), "it is in the same network, and listens on nothing");
        other.kill().and_then(|()| other.wait()).expect("ends");
        // That it is not listed any more is not asserted: another process may have the port by now.
        drop(listener);
        assert!(listening_ports(u32::MAX).is_empty());
    }
}

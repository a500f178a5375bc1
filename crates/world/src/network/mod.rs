//! The way out for sandboxed commands: a proxy that reaches the hosts that a policy allows, and nothing else.
//!
//! It listens on a socket inside the network of a session (`sandbox/networks.rs`) and connects from outside. It decides
//! nothing: `HostPolicy` of the vocabulary says which hosts and addresses are allowed. Each command has its own password
//! for it, so that what is reached is known by command, and what one was allowed is not allowed to others.
//!
//! * `request.rs` reads what a program asks the proxy for: HTTP `CONNECT`, plain HTTP, and SOCKS5.
//! * `hello.rs` reads the server name in the first message of TLS. Nothing is decrypted.
//! * `proxy.rs` accepts, checks, connects, and copies.
//! * `forward.rs` leads the other way: from this machine to one port of the network, when the user opens it.

mod forward;
mod hello;
mod proxy;
mod request;

pub use forward::PortForward;
pub use proxy::{CommandAccess, NetworkProxy};

//! Words about the network of commands.

use super::sentences;

sentences! {
    /// What the proxy answers to a program that it does not connect.
    pub enum ProxyRefusal {
        NoRule(host: String) =>
            "Trimtab blocked the connection to {host}: no rule allows commands to reach it. The user is asked when the command fails.",
        Denied(host: String) => "Trimtab blocked the connection to {host}: a rule of the user denies it.",
        NotPublic(host: String, address: String) =>
            "Trimtab blocked the connection to {host}: it resolves to {address}, which is not a public address, and no rule names that address.",
        OtherHost(host: String) => "Trimtab blocked the request to {host}: its Host header names another host.",
        Unreachable(host: String) => "Trimtab cannot connect to {host}.",
        NoPassword => "Trimtab's proxy needs the password in the variable http_proxy of the command.",
        Malformed => "Trimtab's proxy cannot read this request.",
    }
}

sentences! {
    /// What a command did with the network.
    pub enum NetworkNote {
        Reached(hosts: String) => "Network: reached {hosts}.",
        NoRule(hosts: String) => "Network: blocked {hosts} (no rule allows it).",
        Denied(hosts: String) => "Network: blocked {hosts} (denied by a rule).",
        NotPublic(hosts: String) => "Network: blocked {hosts} (not a public address).",
        Mismatch(hosts: String) => "Network: blocked a connection to {hosts} (it asked for another host).",
        Failed(hosts: String) => "Network: no connection to {hosts}.",
    }
}

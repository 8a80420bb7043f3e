//! Addresses of this machine and its link, whose services trust every client: metadata services with cloud credentials, a
//! kubelet, admin ports. Another host can name such an address in a redirect or a realm; the client does not send requests
//! there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Metadata services that are not link-local: of AWS over IPv6, and of Alibaba Cloud.
const METADATA: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
];

/// Reason for refusing such an address.
pub(super) const WHY: &str = "another host names this address, which is local to this machine or its link";

/// Whether the host of a URL is this machine or on its link, without resolving names.
#[must_use]
pub fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(address) => is_local_address(address),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn is_local_address(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_of_link = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    address.is_loopback() || address.is_unspecified() || is_of_link || METADATA.contains(&address)
}

/// A resolver that uses the system's, and drops local addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct NonLocalResolver;

impl Resolve for NonLocalResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found = non_local(found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Drops local addresses. Returns an error if no other address is left.
fn non_local(found: impl Iterator<Item = SocketAddr>) -> std::io::Result<Vec<SocketAddr>> {
    let (local, non_local): (Vec<_>, Vec<_>) = found.partition(|found| is_local_address(found.ip()));
    if non_local.is_empty() && !local.is_empty() {
        return Err(std::io::Error::other(WHY));
    }
    Ok(non_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_places_are_known_by_any_spelling() {
        for (host, expected) in [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("2130706433", true),
            ("0.0.0.0", true),
            ("[::]", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("localhost", true),
            ("LOCALHOST.", true),
            ("169.254.169.254", true),
            ("0xa9fea9fe", true),
            ("[::ffff:169.254.169.254]", true),
            ("[fe80::1]", true),
            ("[fd00:ec2::254]", true),
            ("100.100.100.200", true),
            // A registry in a private network is common.
            ("10.0.0.1", false),
            ("192.168.0.1", false),
            ("[fd00::1]", false),
            ("example.com", false),
            ("localhost.example.com", false),
        ] {
            let url = format!("https://{host}/").parse().unwrap();
            assert_eq!(is_local(&url), expected, "{host}");
        }
    }

    #[test]
    fn names_with_local_addresses_alone_are_refused() {
        let addresses = |texts: &[&str]| {
            let found =
                texts.iter().map(|text| format!("{text}:0").parse().unwrap()).collect::<Vec<SocketAddr>>();
            non_local(found.into_iter()).map(|found| found.len()).map_err(|error| error.to_string())
        };
        assert_eq!(addresses(&["169.254.169.254"]), Err(WHY.to_owned()));
        assert_eq!(addresses(&["127.0.0.1", "[::1]"]), Err(WHY.to_owned()));
        assert_eq!(addresses(&["127.0.0.1", "192.0.2.1", "[2001:db8::1]"]), Ok(2));
        assert_eq!(addresses(&[]), Ok(0));
    }
}

//! Addresses of this machine and of its link, where services listen that trust whoever reaches them: those that tell a cloud
//! machine its credentials, a kubelet, an admin port. A foreign host can name such a place, by a redirect or as a realm; it is
//! not asked there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Metadata services that are not on the link: those of AWS over IPv6, and of Alibaba Cloud.
const METADATA: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
];

/// Why such a place is not asked.
pub(super) const WHY: &str = "another host names this address, which is local to this machine or its link";

/// Whether a URL names this machine or its link.
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

/// Resolves names as the system does, to addresses elsewhere alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere;

impl Resolve for Elsewhere {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found = elsewhere(found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The addresses that are elsewhere. An error where there are none but local ones.
fn elsewhere(found: impl Iterator<Item = SocketAddr>) -> std::io::Result<Vec<SocketAddr>> {
    let (local, elsewhere): (Vec<_>, Vec<_>) = found.partition(|found| is_local_address(found.ip()));
    if elsewhere.is_empty() && !local.is_empty() {
        return Err(std::io::Error::other(WHY));
    }
    Ok(elsewhere)
}

#[cfg(test)]
mod tests;

//! The artifact of a stack repository of any bytes: no panic, within the limits, and only what was asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::release::Limits;
use stackflux::release::catalog::{self, CatalogLimits};
use stackflux_fuzz::as_archives;

fuzz_target!(|bytes: &[u8]| as_archives(bytes, check));

fn check(archive: &[u8]) {
    let release = Limits { unpacked: 64 << 10, entries: 16, yaml_file: 4 << 10 };
    let limits = CatalogLimits { unpacked: 256 << 10, entries: 64, release };
    let read = || {
        let mut kept = Vec::new();
        let wanted = |name: &stackflux::names::ReleaseName| name.provider() == "docker";
        let found = catalog::read(archive, "releases", &limits, wanted, |loaded| {
            assert!(
                loaded.files.size() <= limits.release.unpacked
                    && loaded.files.len() <= limits.release.entries
            );
            assert!(!loaded.release.packed);
            kept.push((loaded.release.name.clone(), loaded.release.digest));
            loaded.release.digest
        });
        (found.map(|found| (found.releases, found.others)).map_err(|error| error.to_string()), kept)
    };
    let (found, kept) = read();
    assert_eq!((&found, &kept), (&read().0, &read().1));
    let Ok((releases, others)) = found else { return };
    assert!(releases.len() + others.unwanted + others.malformed <= limits.entries);
    for (name, release) in releases {
        assert_eq!(name.provider(), "docker");
        match release {
            Ok(digest) => assert!(kept.contains(&(name, digest))),
            Err(findings) => assert!(findings.has_errors() && !findings.to_string().contains('\x1b')),
        }
    }
}

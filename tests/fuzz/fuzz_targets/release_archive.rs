//! An archive of any bytes, and a release out of it: no panic, within the limits, and no path that leaves its directory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::release::{Limits, Release, archive};
use stackflux_fuzz::as_archives;

fuzz_target!(|bytes: &[u8]| as_archives(bytes, check));

fn check(archive: &[u8]) {
    let limits = Limits { unpacked: 64 << 10, entries: 16, yaml_file: 4 << 10 };
    let unpacked = archive::unpack(archive, "x.tgz", &limits);
    assert_eq!(unpacked, archive::unpack(archive, "x.tgz", &limits));
    match unpacked {
        Ok(files) => {
            assert!(files.size() <= limits.unpacked && files.len() <= limits.entries);
            for (path, _) in files.iter() {
                assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{path:?}");
            }
            let name = "docker-demo-1-34-v1".parse().expect("the name of a release");
            let Ok(files) = files.without_ignored() else { return };
            if let Err(findings) = Release::load(&name, files, &limits) {
                assert!(findings.has_errors());
            }
        }
        Err(findings) => assert!(findings.has_errors() && !findings.to_string().contains('\x1b')),
    }
}

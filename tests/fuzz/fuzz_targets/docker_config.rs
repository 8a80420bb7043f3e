//! The file of `docker login` of any bytes: no panic, and nothing of it in what is printed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::source::oci::credentials::DockerConfig;

fuzz_target!(|json: &[u8]| match DockerConfig::parse(json) {
    Ok(config) => {
        for registry in ["docker.io", "registry.example.com:5000", "[::1]:5000", ""] {
            let _ = config.helper(registry);
            if let Some(entry) = config.entry(registry, "a/b") {
                assert_eq!(format!("{entry:?}"), "Entry");
                let _ = entry.credentials();
            }
        }
    }
    Err(error) => assert!(error.to_string().len() < 200),
});

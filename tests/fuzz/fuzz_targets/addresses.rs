//! The address of a source of any text: no panic, what is accepted is written as it was meant, and no password is shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::source::address::Address;
use stackflux::source::oci::Mirror;

fuzz_target!(|text: &str| {
    if let Ok(address) = text.parse::<Address>() {
        let again: Result<Address, _> = address.to_string().parse();
        assert_eq!(again, Ok(address), "{text:?}");
    }
    for scheme in ["oci", "git+https"].into_iter().filter(|_| !text.contains("hunter2")) {
        if let Err(error) = format!("{scheme}://user:hunter2@{text}").parse::<Address>() {
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
    if let Err(error) = text.parse::<Mirror>() {
        assert!(error.to_string().len() < 300);
    }
});

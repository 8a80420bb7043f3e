//! A ClusterStack's file of any text: no panic, and what is accepted is accepted again as it is written out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::api::ClusterStack;
use stackflux::plan::canonical::to_yaml;

fuzz_target!(|text: &str| match ClusterStack::from_yaml(text) {
    Ok(stack) => {
        let written = to_yaml(&serde_json::to_value(&stack).expect("a ClusterStack is JSON"));
        let again = ClusterStack::from_yaml(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(again, stack);
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});

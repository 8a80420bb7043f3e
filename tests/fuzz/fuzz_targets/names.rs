//! Names of any text: no panic, and what is accepted is written as it was read.
#![no_main]

use std::cmp::Ordering;
use std::fmt::Display;
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use stackflux::api::Duration;
use stackflux::names::{
    AddonName, KubernetesVersion, MAX_OBJECT_NAME, Namespace, ObjectName, ReleaseName, Revision,
};
use stackflux::release::Digest;

// The input is two names, one per line: they are compared as well.
fuzz_target!(|text: &str| {
    let (one, other) = text.split_once('\n').unwrap_or((text, ""));
    for text in [one, other] {
        same_again::<AddonName>(text);
        same_again::<Namespace>(text);
        same_again::<ObjectName>(text);
        same_again::<Revision>(text);
        same_again::<KubernetesVersion>(text);
        same_again::<Digest>(text);
        same_again::<Duration>(text);
        if let Ok(bounded) = ObjectName::bounded(text) {
            assert!(bounded.as_str().len() <= MAX_OBJECT_NAME);
        }
    }
    if let (Some(one), Some(other)) = (release(one), release(other)) {
        assert_eq!(one.cmp(&other), other.cmp(&one).reverse());
        assert_eq!(one.cmp(&other) == Ordering::Equal, one == other);
        assert_eq!(one == other, one.to_string() == other.to_string());
        assert_eq!(one.class_name() == other.class_name(), one == other);
    }
});

fn same_again<Name: FromStr + Display>(text: &str) -> Option<Name> {
    let name: Name = text.parse().ok()?;
    assert_eq!(name.to_string(), text);
    Some(name)
}

/// The release of this name, which its class's name leads back to.
fn release(text: &str) -> Option<ReleaseName> {
    let _ = ReleaseName::from_class_name(text);
    let release = same_again::<ReleaseName>(text)?;
    assert_eq!(ReleaseName::from_class_name(&release.class_name()), Ok(release.clone()));
    Some(release)
}

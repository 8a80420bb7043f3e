//! The real stacks, read from the directory that `STACKFLUX_SHARED` names (`make test-shared`).

use std::path::PathBuf;

use stackflux::release::{Findings, Form, Limits, Loaded, Reason, Release};
use stackflux::source::directory;

fn load(name: &str) -> Result<Loaded, Findings> {
    let shared =
        std::env::var_os("STACKFLUX_SHARED").expect("STACKFLUX_SHARED must name the shared directory");
    let path = PathBuf::from(shared).join("stacks").join(name);
    let files = directory::read(&path, &Limits::default()).unwrap();
    Release::load(&name.parse().unwrap(), &files, &Limits::default())
}

#[test]
fn openstack_scs_1_32() {
    let loaded = load("openstack-scs-1-32-v1").unwrap();
    let release = loaded.release;
    assert_eq!(release.form, Form::MultiStage);
    assert_eq!(release.kubernetes.to_string(), "v1.32.5");
    let addons: Vec<_> = release.addons.iter().map(|addon| addon.name.as_str()).collect();
    assert_eq!(addons, ["cni", "metrics-server", "csi", "ccm"]);
    println!("{}\n{release:#?}", loaded.warnings);
}

#[test]
fn the_others() {
    for name in ["openstack-scs2-1-34-v2", "docker-ferrol-1-27-v1", "docker-ferrol-1-27-v3"] {
        match load(name) {
            Ok(loaded) => println!("{}\n{:#?}", loaded.warnings, loaded.release),
            Err(findings) => panic!("{findings}"),
        }
    }
}

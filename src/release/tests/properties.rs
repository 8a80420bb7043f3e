//! Properties that hold for any input.

use proptest::collection::vec;
use proptest::prelude::*;

use super::builder::Stack;
use crate::release::values::read_values;
use crate::release::{Digest, File, Files, Limits, archive};

/// Generates text similar to YAML, so that more than the first byte is read.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        "[a-z<>&*:#{}\\[\\]'\"|%@!,. \\n\t-]{0,8}",
        Just("versions:\n  ".to_owned()),
        Just("addonStages:\n  AfterControlPlaneInitialized:\n    - name: cni\n      action: ".to_owned()),
        Just("dependencies:\n- name: ".to_owned()),
        Just("<< .Chart".to_owned()),
        Just("&a [*a]".to_owned()),
        Just("metadata:\n  name: {{ include \"x\"".to_owned()),
    ];
    prop_oneof![vec(any::<u8>(), 0..200), vec(word, 0..20).prop_map(|words| words.concat().into_bytes())]
}

fn any_file() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "metadata.yaml",
        "csctl.yaml",
        "clusteraddon.yaml",
        "cluster-addon-values.yaml",
        "cluster-class/Chart.yaml",
        "cluster-class/templates/class.yaml",
        "cluster-class/templates/_helpers.tpl",
        "cluster-addon/cni/Chart.yaml",
        "cluster-addon/cni/charts/cilium-1.18.9.tgz",
        "cluster-addon/ccm/overwrite.yaml",
        "cluster-addon/.sourceignore",
        "openstack-demo-1-34-cluster-addon-v2.tgz",
    ])
}

proptest! {
    #[test]
    fn loading_never_panics(changes in vec((any_file(), text()), 1..4)) {
        let mut stack = Stack::good();
        for (path, content) in changes {
            stack = stack.with_bytes(path, content);
        }
        stack.files = stack.files.without_ignored().unwrap();
        if let Err(findings) = stack.load() {
            prop_assert!(findings.has_errors());
            prop_assert!(!findings.to_string().is_empty());
        }
    }

    #[test]
    fn unpacking_never_panics(
        bytes in vec(any::<u8>(), 0..400),
        at in 0..2000_usize,
        with in any::<u8>(),
    ) {
        let _ = archive::unpack(&bytes, "x.tgz", &Limits::default());
        let mut real = super::builder::chart_archive("cilium", "1.18.9");
        let at = at % real.len();
        real[at] = with;
        let _ = archive::unpack(&real, "x.tgz", &Limits::default());
        let _ = archive::unpack(&real[..at], "x.tgz", &Limits::default());
    }

    #[test]
    fn tar_headers_never_panic(block in vec(any::<u8>(), 0..1600), at in 0..512_usize, with in any::<u8>()) {
        let pack = |bytes: &[u8]| {
            use std::io::Write as _;
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let _ = archive::unpack(&pack(&block), "x.tgz", &Limits::default());
        let mut real = Vec::new();
        let archive = super::builder::chart_archive("cilium", "1.18.9");
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(archive.as_slice()), &mut real).unwrap();
        real[at] = with;
        let _ = archive::unpack(&pack(&real), "x.tgz", &Limits::default());
    }

    #[test]
    fn values_never_panic(rendered in text()) {
        let _ = read_values(&String::from_utf8_lossy(&rendered));
    }

    #[test]
    fn digest_is_independent_of_insertion_order(
        paths in prop::collection::btree_set("[a-c]{1,3}", 0..12),
        seed in any::<u64>(),
    ) {
        let mut shuffled: Vec<&String> = paths.iter().collect();
        shuffled.sort_by_key(|path| path.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())));
        let fill = |paths: &[&String]| {
            let mut files = Files::default();
            for path in paths {
                files.insert(path, File { content: path.as_bytes().to_vec(), executable: false }).unwrap();
            }
            files
        };
        let ordered: Vec<&String> = paths.iter().collect();
        prop_assert_eq!(Digest::of(&fill(&ordered), ""), Digest::of(&fill(&shuffled), ""));
    }
}

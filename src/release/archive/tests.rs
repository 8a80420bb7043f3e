use std::io::Write as _;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::*;
use crate::release::tests::builder::raw_archive;

type Raw<'a> = (&'a str, EntryType, &'a str, &'a [u8]);

fn read<'a>(entries: impl IntoIterator<Item = Raw<'a>>) -> Result<Files, Findings> {
    unpack(&raw_archive(entries), "x.tgz", &Limits::default())
}

#[track_caller]
fn refused<'a>(entries: impl IntoIterator<Item = Raw<'a>>, reason: Reason, file: &str, message: &str) {
    let findings = read(entries).expect_err("it was read");
    let all: Vec<_> = findings.iter().collect();
    let [finding] = all.as_slice() else { panic!("not one finding:\n{findings}") };
    let expected = (reason, format!("x.tgz: {file}"), message);
    assert_eq!((finding.reason, finding.file.clone(), finding.message.as_str()), expected);
}

#[test]
fn leading_dot_of_paths_is_stripped() {
    let entries: [Raw<'_>; 4] = [
        ("./", EntryType::Directory, "", b""),
        ("a/", EntryType::Directory, "", b""),
        ("./a/b", EntryType::Regular, "", b"one"),
        ("a/c", EntryType::Regular, "", b""),
    ];
    let files = read(entries).unwrap();
    assert_eq!(files.get("a/b").unwrap().content, b"one");
    assert_eq!(files.len(), 2);
}

#[test]
fn paths_outside_the_archive_are_refused() {
    let absolute = "the path is absolute";
    refused(
        [("/etc/passwd", EntryType::Regular, "", &b"x"[..])],
        Reason::InvalidPath,
        "/etc/passwd",
        absolute,
    );
    refused(
        [(".//etc/passwd", EntryType::Regular, "", &b"x"[..])],
        Reason::InvalidPath,
        "/etc/passwd",
        absolute,
    );
    refused([("/etc/", EntryType::Directory, "", &b""[..])], Reason::InvalidPath, "/etc", absolute);
    let parent = "the path has a `..` in it";
    for path in ["../x", "a/../../x", "a/.."] {
        refused([(path, EntryType::Regular, "", &b"x"[..])], Reason::InvalidPath, path, parent);
    }
    refused([("../x/", EntryType::Directory, "", &b""[..])], Reason::InvalidPath, "../x", parent);
}

#[test]
fn links_are_refused() {
    let link = |target| format!("the entry is a link to {target:?}: links are not followed");
    for target in ["/etc/passwd", "../x", "a"] {
        refused([("l", EntryType::Symlink, target, &b""[..])], Reason::LinkNotAllowed, "l", &link(target));
        refused([("l", EntryType::Link, target, &b""[..])], Reason::LinkNotAllowed, "l", &link(target));
    }
    let entries: [Raw<'_>; 2] =
        [("l", EntryType::Symlink, "/etc", b""), ("l/passwd", EntryType::Regular, "", b"x")];
    refused(entries, Reason::LinkNotAllowed, "l", &link("/etc"));
}

#[test]
fn special_files_are_refused() {
    let message = "the entry is a device, a pipe or something else special";
    for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
        refused([("n", kind, "", &b""[..])], Reason::SpecialFile, "n", message);
    }
}

#[test]
fn duplicate_path_is_refused() {
    let message = "another entry has the same path, or is a file where this one needs a directory";
    let twice = |first, second| {
        [(first, EntryType::Regular, "", &b"1"[..]), (second, EntryType::Regular, "", &b"2"[..])]
    };
    refused(twice("a", "a"), Reason::InvalidPath, "a", message);
    refused(twice("a", "./a"), Reason::InvalidPath, "a", message);
    refused(twice("a", "a/b"), Reason::InvalidPath, "a/b", message);
    refused(twice("a/b", "a"), Reason::InvalidPath, "a", message);
    let entries: [Raw<'_>; 2] = [("a", EntryType::Regular, "", b"1"), ("a/", EntryType::Directory, "", b"")];
    refused(entries, Reason::InvalidPath, "a", message);
    let entries: [Raw<'_>; 2] = [("a/", EntryType::Directory, "", b""), ("a", EntryType::Regular, "", b"1")];
    refused(entries, Reason::InvalidPath, "a", message);
}

#[test]
fn all_invalid_entries_are_reported_at_once() {
    let entries: [Raw<'_>; 3] = [
        ("/a", EntryType::Regular, "", b""),
        ("b", EntryType::Fifo, "", b""),
        ("../c", EntryType::Regular, "", b""),
    ];
    assert_eq!(read(entries).unwrap_err().len(), 3);
}

#[track_caller]
fn exceeds(bytes: &[u8], limits: &Limits, message: &str) {
    let findings = unpack(bytes, "x.tgz", limits).expect_err("it was read");
    let finding = findings.iter().next().unwrap();
    assert_eq!((finding.reason, finding.file.as_str()), (Reason::LimitExceeded, "x.tgz"));
    assert_eq!(finding.message, message);
}

#[test]
fn bytes_over_the_limit_are_refused() {
    let content = vec![0; 600];
    let two = raw_archive([
        ("a", EntryType::Regular, "", &content[..]),
        ("b", EntryType::Regular, "", &content[..]),
    ]);
    let limits = |unpacked| Limits { unpacked, ..Limits::default() };
    assert!(unpack(&two, "x.tgz", &limits(1200)).is_ok());
    exceeds(&two, &limits(1199), "with this archive unpacked, the release exceeds the limit of bytes");
}

#[test]
fn entries_over_the_limit_are_refused() {
    let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let many = raw_archive(names.iter().map(|name| (name.as_str(), EntryType::Regular, "", &b""[..])));
    let limits = |entries| Limits { entries, ..Limits::default() };
    assert!(unpack(&many, "x.tgz", &limits(20)).is_ok());
    exceeds(&many, &limits(19), "with this archive, the release exceeds the limit of entries");
    let directories = raw_archive((0..20).map(|_| ("d/", EntryType::Directory, "", &b""[..])));
    exceeds(&directories, &limits(19), "with this archive, the release exceeds the limit of entries");
}

#[test]
fn decompression_bomb_is_not_unpacked() {
    // Endless zeros, as a file and as the long name of one.
    let zeros = vec![0; 1 << 20];
    let bomb = |kind: EntryType, claimed: u64| {
        let mut header = tar::Header::new_gnu();
        header.set_path("a").unwrap();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(claimed);
        header.set_cksum();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(header.as_bytes()).unwrap();
        for _ in 0..32 {
            encoder.write_all(&zeros).unwrap();
        }
        encoder.finish().unwrap()
    };
    let limits = Limits { unpacked: 1 << 20, ..Limits::default() };
    let message = "with this archive unpacked, the release exceeds the limit of bytes";
    exceeds(&bomb(EntryType::Regular, 1 << 30), &limits, message);
    let findings = unpack(&bomb(EntryType::GNULongName, 1 << 30), "x.tgz", &limits).unwrap_err();
    assert_eq!(findings.iter().next().unwrap().reason, Reason::InvalidArchive);
    // The data after the archive is read for its checksum, within the same limit, and not kept.
    exceeds(&bomb(EntryType::Regular, 0), &limits, message);
    let twice = Limits { unpacked: 64 << 20, ..Limits::default() };
    assert!(unpack(&bomb(EntryType::Regular, 0), "x.tgz", &twice).is_ok());
}

/// Whether flate2 reads all members of a gzip stream to their checksums.
fn is_whole(bytes: &[u8]) -> bool {
    io::copy(&mut MultiGzDecoder::new(bytes), &mut io::sink()).is_ok()
}

#[test]
fn gzip_any_bit_flipped_is_refused() {
    let real = raw_archive([("a", EntryType::Regular, "", &b"one"[..])]);
    let whole = unpack(&real, "x.tgz", &Limits::default()).unwrap();
    let mut refused = 0;
    for bit in 0..real.len() * 8 {
        let mut bytes = real.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let unpacked = unpack(&bytes, "x.tgz", &Limits::default());
        // The time has no checksum, and the source of a run of zeros makes no difference.
        assert_eq!(unpacked.is_ok(), is_whole(&bytes), "bit {bit} is flipped");
        match unpacked {
            Ok(files) => assert_eq!(files, whole, "bit {bit} is flipped"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 4 * real.len(), "{refused} of {} bits", 8 * real.len());
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_members_and_trailing_bytes() {
    let real = raw_archive([("a", EntryType::Regular, "", &b"one"[..])]);
    let mut tar = Vec::new();
    MultiGzDecoder::new(real.as_slice()).read_to_end(&mut tar).unwrap();
    let members = [gzip(&tar[..700]), gzip(&tar[700..]), gzip(b"")].concat();
    assert_eq!(unpack(&members, "x.tgz", &Limits::default()).unwrap().get("a").unwrap().content, b"one");
    let mut broken = gzip(b"more");
    *broken.last_mut().unwrap() ^= 1;
    for trailing in [&b"x"[..], b"garbage", &[0; 512], &gzip(b"more")[..10], &broken] {
        let bytes = [&real[..], trailing].concat();
        let findings = unpack(&bytes, "x.tgz", &Limits::default()).expect_err("it was read");
        assert_eq!(findings.iter().next().unwrap().reason, Reason::InvalidArchive, "{findings}");
    }
}

#[test]
fn invalid_archive_is_refused() {
    let real = raw_archive([("a", EntryType::Regular, "", &[7; 5000][..])]);
    for bytes in [&b""[..], b"x", b"\x1f\x8b", &real[..real.len() / 2]] {
        let findings = unpack(bytes, "x.tgz", &Limits::default()).expect_err("it was read");
        let finding = findings.iter().next().unwrap();
        assert_eq!((finding.reason, finding.file.as_str()), (Reason::InvalidArchive, "x.tgz"));
        assert!(finding.message.starts_with("the archive cannot be read: "), "{finding}");
    }
}

#[test]
fn non_utf8_path_is_refused() {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..2].copy_from_slice(b"a\xff");
    header.set_size(0);
    header.set_cksum();
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    builder.append(&header, &b""[..]).unwrap();
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    let findings = unpack(&bytes, "x.tgz", &Limits::default()).unwrap_err();
    assert_eq!(findings.iter().next().unwrap().message, "the path is not UTF-8");
}

#[test]
fn owner_bit_makes_a_file_executable() {
    let pack = |mode| {
        let mut header = tar::Header::new_ustar();
        header.set_path("run").unwrap();
        header.set_mode(mode);
        header.set_size(0);
        header.set_cksum();
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        builder.append(&header, &b""[..]).unwrap();
        builder.into_inner().unwrap().finish().unwrap()
    };
    for (mode, executable) in [(0o644, false), (0o755, true), (0o700, true), (0o611, false)] {
        let files = unpack(&pack(mode), "x.tgz", &Limits::default()).unwrap();
        assert_eq!(files.get("run").unwrap().executable, executable, "{mode:o}");
    }
}

#[test]
fn gzip_with_too_many_members_is_refused() {
    let real = raw_archive([("a", EntryType::Regular, "", &b"one"[..])]);
    let with = |more: usize| [real.clone(), gzip(b"").repeat(more)].concat();
    assert!(unpack(&with(members::MAX_MEMBERS - 1), "x.tgz", &Limits::default()).is_ok());
    let findings = unpack(&with(members::MAX_MEMBERS), "x.tgz", &Limits::default()).unwrap_err();
    let finding = findings.iter().next().unwrap();
    assert_eq!(finding.message, "the archive cannot be read: it has more than 32768 gzip members");
}

/// An archive of one file with these PAX records, and with them in a global header.
fn with_records(records: &[(&str, &[u8])]) -> [Vec<u8>; 2] {
    let archive = |kind: EntryType| {
        let mut content = Vec::new();
        for (name, value) in records {
            let rest = name.len() + value.len() + 3;
            let digits = if rest + 2 < 100 { 2 } else { 3 };
            content.extend(format!("{} {name}=", rest + digits).bytes().chain(value.iter().copied()));
            content.push(b'\n');
        }
        raw_archive([("x", kind, "", content.as_slice()), ("a", EntryType::Regular, "", b"one")])
    };
    [archive(EntryType::XHeader), archive(EntryType::XGlobalHeader)]
}

#[test]
fn last_path_record_counts() {
    let [archive, global] = with_records(&[("path", b"first"), ("mtime", b"1"), ("path", b"./second")]);
    let files = unpack(&archive, "x.tgz", &Limits::default()).unwrap();
    assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["second"]);
    let findings = unpack(&global, "x.tgz", &Limits::default()).unwrap_err();
    assert!(findings.to_string().contains("a global header has the record \"path\""), "{findings}");
    let [_, comment] = with_records(&[("comment", b"2991119a")]);
    assert!(unpack(&comment, "x.tgz", &Limits::default()).unwrap().get("a").is_some());
}

#[test]
fn long_name_beside_a_path_record_is_refused() {
    let read = |name: &[u8]| {
        let entries: [Raw<'_>; 3] = [
            ("././@LongLink", EntryType::GNULongName, "", name),
            ("x", EntryType::XHeader, "", b"15 path=second\n"),
            ("a", EntryType::Regular, "", b"one"),
        ];
        unpack(&raw_archive(entries), "x.tgz", &Limits::default())
    };
    let findings = read(b"first\0").unwrap_err();
    assert!(findings.to_string().contains("an entry has two paths"), "{findings}");
    assert!(read(b"second\0").unwrap().get("second").is_some());
}

#[test]
fn ambiguous_records_are_refused() {
    let sparse = "it has a sparse file";
    for (records, message) in [
        (&[("GNU.sparse.major", &b"1"[..]), ("GNU.sparse.minor", b"0")][..], sparse),
        (&[("GNU.sparse.map", b"0,1")], sparse),
        (&[("size", b"3"), ("size", b"2")], "two sizes"),
        (&[("SCHILY.xattr.x", b"a\n\nb"), ("path", b"second")], "tar --no-xattrs"),
    ] {
        let findings = unpack(&with_records(records)[0], "x.tgz", &Limits::default()).unwrap_err();
        assert!(findings.to_string().contains(message), "{findings}");
    }
    let [same, _] = with_records(&[("size", b"3"), ("size", b"3")]);
    assert!(unpack(&same, "x.tgz", &Limits::default()).is_ok());
}

use proptest::prelude::*;

use super::*;

#[test]
fn message_round_trips() {
    let message = Message {
        subject: "publish: openstack-scs2-1-34-v2".into(),
        body: "From a registry.\n\nTwo paragraphs: the second.".into(),
        trailers: vec![("Source".into(), "oci://h/r:t@sha256:0".into()), ("Tool-Version".into(), "1".into())],
    };
    let text = message.to_string();
    assert!(text.ends_with("\n\nSource: oci://h/r:t@sha256:0\nTool-Version: 1\n"), "{text}");
    assert_eq!(Message::parse(&text), message);
    assert_eq!(message.value("Tool-Version"), Some("1"));
    let short = Message::new("fix").trailer("Source", "x");
    assert_eq!(short.to_string(), "fix\n\nSource: x\n");
    assert_eq!(Message::parse(&short.to_string()), short);
    assert_eq!(Message::parse(&Message::new("fix").to_string()), Message::new("fix"));
}

#[test]
fn git_reads_the_same_trailers() {
    let message = Message::new("subject").trailer("Source", "a: b").trailer("Digest", "sha256:0");
    let mut command = std::process::Command::new("git");
    command.args(["interpret-trailers", "--parse"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut git = command.spawn().unwrap();
    std::io::Write::write_all(&mut git.stdin.take().unwrap(), message.to_string().as_bytes()).unwrap();
    let output = String::from_utf8(git.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(output, "Source: a: b\nDigest: sha256:0\n");
}

#[test]
fn value_cannot_add_a_trailer() {
    let message = Message::new("subject\n\nFake: 1").trailer("Source", "x\nDigest: fake\r\n\nFake: 2");
    let read = Message::parse(&message.to_string());
    assert_eq!(read.trailers, [("Source".to_owned(), "x Digest: fake Fake: 2".to_owned())]);
    assert_eq!(read.subject, "subject Fake: 1");
}

#[test]
fn prose_paragraph_has_no_trailers() {
    let read = Message::parse("subject\n\nSee: this\nand that\n");
    assert!(read.trailers.is_empty());
    assert_eq!(read.body, "See: this\nand that");
}

#[test]
fn author_has_name_and_address() {
    let time = Timestamp::UNIX_EPOCH;
    let identity = Identity::parse(" Ann Example <ann@example.org> ", time).unwrap();
    assert_eq!((identity.name.as_str(), identity.email.as_str()), ("Ann Example", "ann@example.org"));
    for text in
        ["", "Ann", "<a@b>", "Ann <>", "Ann <a b>", "Ann <a@b> x", "A\nnn <a@b>", "Ann <a<b>", "Ann <a@b>>"]
    {
        assert!(Identity::parse(text, time).is_err(), "{text:?}");
    }
}

#[test]
fn abbreviated_commit_is_refused() {
    let digits = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(digits.parse::<CommitId>().unwrap().to_string(), digits);
    for text in ["", "0123", "main", &digits.replace('f', "g"), &format!("{digits}0")] {
        assert!(text.parse::<CommitId>().is_err(), "{text}");
    }
}

proptest! {
    /// No subject or value can add, change or remove trailers.
    #[test]
    fn message_contains_added_trailers(subject in "\\PC{1,20}[\\n\\r]{0,2}[ -~]{0,20}", value in "[ -~\\n\\r]{0,30}") {
        let message = Message::new(subject).trailer("Source", &value).trailer("Digest", "sha256:0");
        let read = Message::parse(&message.to_string());
        let keys: Vec<&str> = read.trailers.iter().map(|(key, _)| key.as_str()).collect();
        prop_assert_eq!(keys, ["Source", "Digest"]);
        prop_assert_eq!(read.value("Digest"), Some("sha256:0"));
    }
}

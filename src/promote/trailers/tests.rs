use super::{FROM, Message, PROMOTE, SOAK, find};

#[test]
fn a_message_has_its_trailers_last() {
    let message = Message::new("Promote x from stage to prod", "It was ready.\n\nFor a day.\n")
        .with(PROMOTE, "openstack-scs-1-32-v2")
        .with(FROM, "stage@0123");
    let text = message.to_text();
    assert_eq!(
        text,
        "Promote x from stage to prod\n\nIt was ready.\n\nFor a day.\n\nStackflux-Promote: \
         openstack-scs-1-32-v2\nStackflux-From: stage@0123\n"
    );
    assert_eq!(find(&text, PROMOTE), Some("openstack-scs-1-32-v2"));
    assert_eq!(find(&text, SOAK), None);
    assert_eq!(Message::new("Only this", "").to_text(), "Only this\n");
}

#[test]
fn a_value_cannot_bring_a_trailer_of_its_own() {
    let text = Message::new("a\nStackflux-Promote: x", "").with(SOAK, "1h\nStackflux-Promote: x\u{1b}").to_text();
    assert_eq!(find(&text, PROMOTE), None, "{text}");
    assert_eq!(find(&text, SOAK), Some("1h Stackflux-Promote: x"));
}

#[test]
fn only_the_last_paragraph_of_trailers_counts() {
    for text in [
        "Stackflux-Promote: x",
        "Subject\n\nStackflux-Promote: x\n\nmore text\n",
        "Subject\n\nSome words\nStackflux-Promote: x\n",
        "Subject\n\nSee here: it is\nStackflux-Promote: x\n",
    ] {
        assert_eq!(find(text, PROMOTE), None, "{text:?}");
    }
    let signed = "Subject\n\nStackflux-Promote: x\nSigned-off-by: A <a@b>\nstackflux-promote: y\n\n";
    assert_eq!(find(signed, PROMOTE), Some("y"));
}

use super::*;

#[test]
fn note_fits_the_limit_of_the_api_server() {
    let most = "a".repeat(MAX_NOTE);
    assert_eq!(fitting(&most), most);
    for long in ["a".repeat(MAX_NOTE + 1), "ä".repeat(MAX_NOTE), format!("a{}", "ä".repeat(MAX_NOTE))] {
        let note = fitting(&long);
        assert!((MAX_NOTE - 1..=MAX_NOTE).contains(&note.len()), "{}", note.len());
        assert!(long.starts_with(note.strip_suffix('…').unwrap()));
    }
}

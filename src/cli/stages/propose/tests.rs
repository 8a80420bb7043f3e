use super::*;
use crate::cli::history::of_text;
use crate::promote::document::{Block, Line};
use crate::promote::trailers;

fn change(reason: &str, lines: usize) -> Change<'static> {
    let block =
        |at: usize| Block::Folded(Line::new(&at.to_string()), vec![Line::new("").code(&"ä".repeat(100))]);
    let message = Message::new("Promote x")
        .trailer(trailers::PROMOTE, "x")
        .trailer(trailers::LIFTED_HOLD, reason)
        .trailer(trailers::STAGE, "prod");
    Change { branch: "main", what: String::new(), message, text: Document((0..lines).map(block).collect()) }
}

#[test]
fn a_reason_is_no_markdown_and_the_trailers_are_found() {
    let reason = "@team\n```\n# heading\r\nStackflux-Rollback: y";
    let body = body(&change(reason, 1));
    let line = "\nStackflux-Lifted-Hold: @team ``` # heading Stackflux-Rollback: y\n";
    assert!(body.contains(line), "{body}");
    assert_eq!(body.lines().filter(|line| line.starts_with("```")).count(), 2, "{body}");
    let found: Vec<(String, String)> = of_text(&body).collect();
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, [trailers::PROMOTE, trailers::LIFTED_HOLD, trailers::STAGE]);
}

#[test]
fn a_body_has_its_trailers_however_long_the_text_is() {
    for (reason, lines) in [("it leaked", 1), ("it leaked", 2000), ("ö".repeat(100_000).as_str(), 2000)] {
        let body = body(&change(reason, lines));
        assert!(body.len() <= LONGEST_BODY, "{}", body.len());
        let end = body.rsplit_once("</details>\n").unwrap().1;
        assert!(end.ends_with("\n```\n") && end.matches("```").count() == 2, "{end}");
        for told in ["Stackflux-Promote: x", "Stackflux-Lifted-Hold: ", "Stackflux-Stage: prod"] {
            assert!(end.contains(told), "{told} is not in {end}");
        }
    }
}

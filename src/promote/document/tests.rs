use super::{Block, Document, Line};

fn markdown(block: Block) -> String {
    Document(vec![block]).to_markdown(60_000)
}

fn line(text: &str) -> Line {
    Line::new("see ").code(text)
}

#[test]
fn what_others_wrote_stays_code_in_markdown() {
    let hostile = "@team `x` <img src=x> [a](http://b) | ![p](q)\n# no heading\u{1b}[2J";
    let text = markdown(Block::Paragraph(line(hostile)));
    assert_eq!(
        text,
        "see `` @team `x` <img src=x> [a](http://b) | ![p](q)\u{fffd}# no heading\u{fffd}[2J ``\n"
    );
    let table = markdown(Block::Table(vec!["a"], vec![vec![line("a|b`")]]));
    assert_eq!(table, "| a |\n| --- |\n| see `` a\\|b` `` |\n");
    let folded = markdown(Block::Folded(line("</summary><b>&"), vec![line("</details>")]));
    assert_eq!(
        folded,
        "<details><summary>see <code>&lt;/summary&gt;&lt;b&gt;&amp;</code></summary>\n\n- see \
         `</details>`\n\n</details>\n"
    );
    for text in ["``", "`", " ", "", "a``b`"] {
        let span = markdown(Block::Paragraph(Line::default().code(text)));
        let fence = span.chars().take_while(|character| *character == '`').count();
        assert!(fence > 0 && !text.contains(&"`".repeat(fence)), "{text:?}: {span:?}");
        assert!(span.trim_end().ends_with(&"`".repeat(fence)), "{text:?}: {span:?}");
    }
}

#[test]
fn words_of_our_own_are_no_markdown_either() {
    let text = markdown(Block::Paragraph(Line::new("a_b <c> *d*").strong("[e]")));
    assert_eq!(text, "a\\_b \\<c\\> \\*d\\***\\[e\\]**\n");
}

#[test]
fn a_document_is_never_longer_than_a_forge_takes() {
    let block = |at: usize| Block::List(vec![line(&format!("{at} {}", "x".repeat(300))); 10]);
    let document = Document((0..100).map(block).collect());
    let text = document.to_markdown(20_000);
    assert!(text.chars().count() <= 20_000, "{}", text.chars().count());
    assert!(text.contains("parts are left out"), "{text}");
    assert!(document.to_markdown(1_000_000).contains("`99 x"));
    let one = Document(vec![Block::Heading(1, line("x")), block(1)]);
    assert!(one.to_markdown(1000).contains("1 more part is left out"));
}

#[test]
fn plain_text_has_columns_and_no_control_characters() {
    let document = Document(vec![
        Block::Heading(1, Line::new("Title")),
        Block::Table(
            vec!["part", "change"],
            vec![vec![line("a\u{1b}"), Line::new("x")], vec![line("longer")]],
        ),
        Block::Heading(3, Line::new("More")),
        Block::List(vec![Line::new("ab ").codes(["1", "2", "3"], 2)]),
        Block::Folded(Line::new("values"), vec![line("a: 1 → 2")]),
    ]);
    assert_eq!(
        document.to_plain(),
        "Title\n=====\n  PART         CHANGE\n  see a\u{fffd}       x\n  see longer\n\nMore\n  - ab 1, 2 and 1 more\n  \
         values:\n    see a: 1 → 2\n"
    );
}

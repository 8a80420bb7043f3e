use super::{Block, Document, Line};

fn markdown(block: Block) -> String {
    Document(vec![block]).to_markdown(60_000)
}

fn line(text: &str) -> Line {
    Line::new("see ").code(text)
}

#[test]
fn foreign_text_stays_code_in_markdown() {
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
fn own_text_is_escaped_for_markdown() {
    let text = markdown(Block::Paragraph(Line::new("a_b <c> *d*").strong("[e]")));
    assert_eq!(text, "a\\_b \\<c\\> \\*d\\***\\[e\\]**\n");
}

#[test]
fn document_fits_the_limit_of_forges() {
    let list = |at: usize| Block::List(vec![line(&format!("{at} {}", "ä".repeat(150))); 10]);
    let document = Document((0..100).map(list).collect());
    let text = document.to_markdown(20_000);
    assert!(text.len() <= 20_000 && text.contains("**Left out"), "{}", text.len());
    assert!(document.to_markdown(1_000_000).contains("`99 ä"));
    let folded = Document(
        (0..1000).map(|at| Block::Folded(line(&at.to_string()), vec![line(&"x".repeat(200))])).collect(),
    );
    let text = folded.to_markdown(20_000);
    assert!(text.len() <= 20_000 && text.contains(" more. The same command"), "{text}");
    assert_eq!(text.matches("</details>\n").count(), text.matches("<details>").count());
    let one = |length: usize| markdown(Block::Paragraph(Line::default().code(&"x".repeat(length))));
    assert_eq!((one(300).len(), one(301).len()), (303, 303 + '…'.len_utf8()));
}

#[test]
fn overlong_parts_are_omitted_and_named() {
    let lines = |count: usize| vec![line(&"x".repeat(200)); count];
    let document = Document(vec![
        Block::Heading(1, Line::new("Title")),
        Block::Heading(2, Line::new("Values")),
        Block::Folded(Line::new("many"), lines(100)),
        Block::Folded(Line::new("few"), lines(1)),
        Block::List(lines(2)),
        Block::Heading(2, Line::new("Lists")),
        Block::List(lines(200)),
        Block::Paragraph(Line::new("The end")),
    ]);
    let text = document.to_markdown(10_000);
    assert!(text.contains("<summary>few</summary>") && text.contains("\nThe end\n"), "{text}");
    assert!(text.contains(":** `Values: many`, `a part of Lists`. The same command"), "{text}");
    assert!(!text.contains("<summary>many"), "{text}");
}

#[test]
fn blocks_below_a_dropped_heading_are_dropped() {
    let section = |level: u8, name: &str, length: usize| {
        let title = (0..length).fold(Line::new(name), |title, _| title.code(&"x".repeat(200)));
        [Block::Heading(level, title), Block::List(vec![line(name)])]
    };
    let sections =
        [section(2, "one", 0), section(2, "two", 100), section(3, "three", 0), section(2, "four", 0)];
    let text = Document(sections.concat()).to_markdown(10_000);
    assert!(text.contains("see `one`") && text.contains("see `four`"), "{text}");
    assert!(!text.contains("see `two`") && !text.contains("three"), "{text}");
    assert!(text.contains(":** `twoxxx") && text.contains("…`. The same command"), "{text}");
}

#[test]
fn plain_text_is_aligned_and_has_control_escaped() {
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

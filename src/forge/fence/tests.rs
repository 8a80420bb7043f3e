use super::*;

#[test]
fn a_text_cannot_leave_its_block() {
    for (text, fence) in [
        ("Kubernetes v1.34.2\n- cni: cilium 1.18.9\n", "```"),
        ("`", "```"),
        ("``` \n# heading\n[link](https://host)\n```", "````"),
        ("a\n`````\n@all /merge\n", "``````"),
        ("", "```"),
    ] {
        let block = fenced(text);
        assert_eq!(block, format!("{fence}text\n{}\n{fence}\n", text.trim_end()));
        let closing = block.lines().skip(1).position(|line| line.trim_end().starts_with(fence));
        assert_eq!(closing, Some(block.lines().count() - 2), "only the last line ends it: {block}");
    }
}

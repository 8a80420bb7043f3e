//! Sentences for people, wrapped between words to the width of a terminal. Commands to copy stay whole.

/// Minimum width of what is wrapped; on a narrower terminal, the terminal wraps the lines.
const LEAST: usize = 30;

/// A text of sentences and commands.
#[derive(Debug)]
pub(super) struct Prose {
    /// The width of the terminal; `None` if nothing is wrapped.
    width: Option<usize>,
    text: String,
}

impl Prose {
    pub(super) fn new(width: Option<u16>) -> Self {
        Self { width: width.map(usize::from), text: String::new() }
    }

    /// Adds a line, which may be wrapped.
    pub(super) fn line(&mut self, line: &str) {
        match self.width {
            Some(width) => self.text.push_str(&wrapped(line, width)),
            None => self.text.push_str(line),
        }
        self.text.push('\n');
    }

    /// Adds a command, indented, in one line.
    pub(super) fn command(&mut self, command: &str) {
        self.text.push_str("  ");
        self.text.push_str(command);
        self.text.push('\n');
    }

    /// Adds an empty line.
    pub(super) fn gap(&mut self) {
        self.text.push('\n');
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Wraps a line between words, so that no line is wider than `width` unless one word is. Further lines are indented like the
/// first, and behind its glyph if it begins with one.
fn wrapped(line: &str, width: usize) -> String {
    let indent: String = line.chars().take_while(|character| *character == ' ').collect();
    let rest = line.trim_start_matches(' ');
    let glyph = rest.split(' ').next().filter(|word| is_glyph(word)).map_or(0, |glyph| columns(glyph) + 1);
    let indent = indent + &" ".repeat(glyph);
    if columns(line) <= width || width < columns(&indent) + LEAST {
        return line.to_owned();
    }
    let begin = line.len() - rest.len();
    let (mut text, mut taken) = (line.get(..begin).unwrap_or_default().to_owned(), begin);
    for (number, word) in rest.split(' ').enumerate() {
        let gap = usize::from(number > 0);
        if taken + gap + columns(word) > width && taken > columns(&indent) {
            text = format!("{}\n{indent}", text.trim_end_matches(' '));
            taken = columns(&indent);
        } else {
            text.push_str(&" ".repeat(gap));
            taken += gap;
        }
        text.push_str(word);
        taken += columns(word);
    }
    text
}

/// Whether a word is a sign in front of a line, such as `✗`.
fn is_glyph(word: &str) -> bool {
    columns(word) == 1 && !word.contains(|character: char| character.is_alphanumeric())
}

/// Returns how many columns a text takes: its characters, without the sequences that set colours.
fn columns(text: &str) -> usize {
    let (mut count, mut is_sequence) = (0, false);
    for character in text.chars() {
        match character {
            '\u{1b}' => is_sequence = true,
            _ if is_sequence => is_sequence = character != 'm',
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_wrapped_between_words() {
        let long = "https://git.example.org/a-repository-with-a-very-long-name.git";
        let red = "\u{1b}[31mred\u{1b}[0m";
        for (line, width, expected) in [
            ("", 40, String::new()),
            ("exactly thirty columns of text", 30, "exactly thirty columns of text".to_owned()),
            ("exactly thirty columns of texts", 30, "exactly thirty columns of\ntexts".to_owned()),
            (
                "the Cluster is not ready because of this",
                30,
                "the Cluster is not ready\nbecause of this".to_owned(),
            ),
            (
                "  it is indented like the line before it",
                32,
                "  it is indented like the line\n  before it".to_owned(),
            ),
            (
                "  ✗ addon cni: it is indented behind its glyph",
                34,
                "  ✗ addon cni: it is indented\n    behind its glyph".to_owned(),
            ),
            (
                "✔ every name: one, two, three, four, five",
                32,
                "✔ every name: one, two, three,\n  four, five".to_owned(),
            ),
            (
                "a list that is not a glyph, and it is long",
                32,
                "a list that is not a glyph, and\nit is long".to_owned(),
            ),
            (&format!("it is at {long} and then"), 30, format!("it is at\n{long}\nand then")),
            (&format!("    {long} {long}"), 34, format!("    {long}\n    {long}")),
            (&[red; 8].join(" "), 31, [red; 8].join(" ")),
            (&[red; 9].join(" "), 31, format!("{}\n{red}", [red; 8].join(" "))),
            (
                "umlauts are one column each: äöüäöü äöü",
                39,
                "umlauts are one column each: äöüäöü äöü".to_owned(),
            ),
            (
                "two  spaces   stay where they do not break",
                38,
                "two  spaces   stay where they do not\nbreak".to_owned(),
            ),
            (
                "a terminal this narrow wraps lines itself",
                29,
                "a terminal this narrow wraps lines itself".to_owned(),
            ),
            (
                "          ten columns of indentation leave little room",
                39,
                "          ten columns of indentation leave little room".to_owned(),
            ),
        ] {
            assert_eq!(wrapped(line, width), expected, "{line:?} at {width}");
        }
    }

    #[test]
    fn commands_and_text_for_files_stay_whole() {
        let command = "kubectl get clusteraddon cluster-addon-one -n demo -o jsonpath='{.status.stages}'";
        let text = |width| {
            let mut prose = Prose::new(width);
            prose.line("What to do: wait until the stage before is done");
            prose.command(command);
            prose.gap();
            prose.line("end");
            prose.into_text()
        };
        let sentence = "What to do: wait until the stage before is done";
        assert_eq!(text(None), format!("{sentence}\n  {command}\n\nend\n"));
        let sentence = "What to do: wait until the stage\nbefore is done";
        assert_eq!(text(Some(34)), format!("{sentence}\n  {command}\n\nend\n"));
    }
}

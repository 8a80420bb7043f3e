//! Flags of the connection in front of the command, as kubectl takes them: `stackflux -n demo status`.

use std::ffi::OsString;

use clap::Command;

/// The flags that may precede the command, with their short forms.
const FLAGS: [(&str, Option<&str>); 3] =
    [("--kubeconfig", None), ("--context", None), ("--namespace", Some("-n"))];

/// Moves the flags in front of the command behind it, where clap accepts or refuses them.
pub(super) fn behind_command(
    words: impl IntoIterator<Item = OsString>,
    definition: &Command,
) -> Vec<OsString> {
    let mut words = words.into_iter().peekable();
    let (mut leading, mut command) = (Vec::new(), definition);
    let mut moved: Vec<OsString> = words.next().into_iter().collect();
    while let Some(word) = words.peek() {
        let text = word.to_string_lossy().into_owned();
        if let Some(takes_next) = is_leading(&text) {
            leading.extend(words.next());
            if takes_next {
                leading.extend(words.next());
            }
        } else if let Some(found) = command.find_subcommand(&text) {
            command = found;
            moved.extend(words.next());
        } else {
            break;
        }
    }
    moved.extend(leading);
    moved.extend(words);
    moved
}

/// Whether a word is one of these flags, and if so, whether its value is the next word.
fn is_leading(word: &str) -> Option<bool> {
    FLAGS.iter().find_map(|(long, short)| {
        let is_exact = word == *long || Some(word) == *short;
        let rest = word.strip_prefix(long).is_some_and(|rest| rest.starts_with('='));
        let joined = short.is_some_and(|short| !word.starts_with("--") && word.starts_with(short));
        (is_exact || rest || joined).then_some(is_exact)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Cli;
    use super::*;

    #[test]
    fn leading_flags_move_behind_the_command() {
        for (line, expected) in [
            ("s status -A", "s status -A"),
            ("s -n demo status", "s status -n demo"),
            ("s -ndemo status csk/demo", "s status -ndemo csk/demo"),
            ("s --kubeconfig k --context=c gate open two", "s gate open --kubeconfig k --context=c two"),
            ("s -n demo gate -n other open two", "s gate open -n demo -n other two"),
            ("s --version", "s --version"),
            ("s -n demo nope", "s -n demo nope"),
            ("s status -n", "s status -n"),
        ] {
            let words = line.split(' ').map(OsString::from);
            let moved = behind_command(words, &Cli::command());
            let moved: Vec<_> = moved.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(moved.join(" "), expected, "{line}");
        }
    }
}

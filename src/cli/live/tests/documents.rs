//! What the documents show of the commands: blocks of a page, and pictures of a terminal with colours.
//!
//! `UPDATE_GOLDEN=1` writes them.

use std::fs;
use std::path::Path;

use anstyle::{AnsiColor, RgbColor};
use anstyle_svg::{Term, WIN10_CONSOLE};

use super::*;

/// The width of the terminal in the pictures, in characters.
const COLUMNS: u16 = 120;

/// A file of the repository has this text.
#[allow(clippy::disallowed_methods, reason = "a test may read files and how it was called")]
fn assert_is(text: &str, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "UPDATE_GOLDEN=1 writes it again");
}

/// The console blocks of `docs/fix/find-what-blocks.md` show the output of the commands for the objects here.
#[test]
fn documented_transcripts_are_printed() {
    const PAGE: &str = "docs/fix/find-what-blocks.md";
    #[allow(clippy::disallowed_methods, reason = "a test may read files")]
    let mut document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap();
    let overview = fleet::fleet(&snapshot(None));
    let hidden = crate::cli::output::count(overview.unclaimed(), "Cluster");
    let note =
        format!("! not shown, without a ClusterStack: {hidden}; stackflux why <cluster> explains why\n");
    for (command, text) in [
        ("stackflux status --all-namespaces", table(&overview) + &note),
        ("stackflux why two -n prod --verbose", why("two", None)),
    ] {
        let begin = format!("```console\n$ {command}\n");
        let (before, rest) = document.split_once(&begin).unwrap_or_else(|| panic!("no block of {command}"));
        let (_, after) = rest.split_once("```\n").unwrap();
        document = format!("{before}{begin}{text}```\n{after}");
    }
    assert_is(&document, PAGE);
}

/// Breaks lines where the terminal does. The codes of colours take no place.
fn wrapped(text: &str) -> String {
    let (mut out, mut column, mut is_code) = (String::new(), 0, false);
    for sign in text.chars() {
        is_code |= sign == '\u{1b}';
        if sign == '\n' {
            column = 0;
        } else if !is_code {
            if column == COLUMNS {
                out.push('\n');
                column = 0;
            }
            column += 1;
        }
        out.push(sign);
        is_code &= sign != 'm';
    }
    out
}

/// Draws a terminal with a command and its output.
fn picture(command: &str, output: &str) -> String {
    let (dark, light) = (RgbColor(0x0d, 0x11, 0x17), RgbColor(0xe6, 0xed, 0xf3));
    let mut palette = WIN10_CONSOLE;
    for (colour, seen) in [
        (AnsiColor::Red, RgbColor(0xff, 0x7b, 0x72)),
        (AnsiColor::Green, RgbColor(0x3f, 0xb9, 0x50)),
        (AnsiColor::Yellow, RgbColor(0xd2, 0x99, 0x22)),
    ] {
        palette.0[colour as usize] = seen;
    }
    let terminal = Term::new().palette(palette).fg_color(light.into()).bg_color(dark.into());
    let drawn = terminal.render_svg(&wrapped(&format!("$ {command}\n{}", output.trim_end())));
    let (size, rest) = drawn.strip_prefix("<svg ").unwrap().split_once(" xmlns=").unwrap();
    let (start, rest) = rest.split_once('\n').unwrap();
    let sides: Vec<&str> =
        size.split(|sign: char| !sign.is_ascii_digit()).filter(|side| !side.is_empty()).collect();
    let view = format!("viewBox=\"0 0 {}\" role=\"img\"", sides.join(" "));
    format!(
        "<svg {size} {view} xmlns={start}\n<!-- Drawn by src/cli/live/tests/documents.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->\n\
         <title>{command}</title>\n{}\n",
        rest.trim_end()
    )
}

#[test]
fn pictures_show_the_terminal() {
    let all = snapshot(None);
    let layout = Layout { width: Some(COLUMNS), ..Layout::default() };
    let status = text::fleet::text(&fleet::fleet(&all), layout);
    let (key, member) = all.member("prod", "two").unwrap();
    let chain = chain::cluster(&all, key, member, Some("cni")).unwrap();
    let why = text::chain::text(&chain, all.now(), true, None);
    for (name, command, output) in
        [("status", "stackflux status -A", status), ("why", "stackflux why two/cni -n prod --verbose", why)]
    {
        let drawn = picture(command, &output);
        for colour in ["#3FB950", "#FF7B72"] {
            assert!(drawn.contains(colour), "{name} has no {colour}: {drawn}");
        }
        assert_is(&drawn, &format!("docs/learn/pictures/{name}.svg"));
    }
}

#[test]
fn lines_break_at_the_edge_of_the_terminal() {
    let row = "x".repeat(usize::from(COLUMNS));
    let code = "\u{1b}[31m";
    assert_eq!(wrapped(&format!("{row}\n{code}{row}{code}y\n")), format!("{row}\n{code}{row}{code}\ny\n"));
}

//! Paths with slashes (Go's `path`; `path/filepath` gives the same on Unix).

use super::super::value::Value;
use super::Parameter::Text;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "paths";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("base", GROUP, "The last element of a path.", &[Text], base),
    Function::new("osBase", GROUP, "The same as base.", &[Text], base),
    Function::new("dir", GROUP, "A path without its last element.", &[Text], dir),
    Function::new("osDir", GROUP, "The same as dir.", &[Text], dir),
    Function::new("clean", GROUP, "The shortest path to the same place.", &[Text], clean),
    Function::new("osClean", GROUP, "The same as clean.", &[Text], clean),
    Function::new("ext", GROUP, "The extension of a file's name, with its dot.", &[Text], ext),
    Function::new("osExt", GROUP, "The same as ext.", &[Text], ext),
    Function::new("isAbs", GROUP, "Whether a path starts at the root.", &[Text], is_abs),
    Function::new("osIsAbs", GROUP, "The same as isAbs.", &[Text], is_abs),
];

fn after_last_slash(path: &[u8]) -> usize {
    path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
}

fn base<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let path = arguments.bytes(0)?;
    if path.is_empty() {
        return context.heap.text(".");
    }
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let trimmed = path.get(..end).unwrap_or_default();
    let name = trimmed.get(after_last_slash(trimmed)..).unwrap_or_default();
    context.heap.text(if name.is_empty() { b"/".to_vec() } else { name.to_vec() })
}

fn dir<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let path = arguments.bytes(0)?;
    context.heap.text(cleaned(path.get(..after_last_slash(path)).unwrap_or_default()))
}

fn clean<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(cleaned(arguments.bytes(0)?))
}

/// Cleans a path as Go's `path.Clean` does.
fn cleaned(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut elements: Vec<&[u8]> = Vec::new();
    for element in path.split(|byte| *byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." => match elements.last() {
                Some(&last) if last != b".." => {
                    elements.pop();
                }
                _ if rooted => {}
                _ => elements.push(element),
            },
            _ => elements.push(element),
        }
    }
    let joined = elements.join(b"/".as_slice());
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/".as_slice(), &joined].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

fn ext<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let path = arguments.bytes(0)?;
    let name = path.get(after_last_slash(path)..).unwrap_or_default();
    let dot = name.iter().rposition(|byte| *byte == b'.').unwrap_or(name.len());
    context.heap.text(name.get(dot..).unwrap_or_default().to_vec())
}

fn is_abs<'a>(_: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(arguments.bytes(0)?.starts_with(b"/")))
}

//! Regular expressions in Go's syntax (slim-sprig's `regex.go`). Matching takes linear time.

mod searched;
mod translate;

use std::collections::BTreeMap;
use std::rc::Rc;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::super::fault::Fault;
use super::super::limits::{Limit, REGEX_BYTES, REGEX_PROGRAM_BYTES};
use super::super::value::{ListType, Text, TextBuilder, Value, decode_character};
use super::Parameter::{Int, Text as TextParameter};
use super::{Arguments, Context, Function, Outcome, Parameter};
use searched::Searched;

const GROUP: &str = "regular expressions";

const TWO: &[Parameter] = &[TextParameter, TextParameter];
const THREE: &[Parameter] = &[TextParameter, TextParameter, TextParameter];
const COUNTED: &[Parameter] = &[TextParameter, TextParameter, Int];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "regexMatch",
        GROUP,
        "Whether the text has a match; false for a wrong expression.",
        TWO,
        matches,
    ),
    Function::new("mustRegexMatch", GROUP, "Whether the text has a match.", TWO, must_match),
    Function::new("regexFind", GROUP, "The first match, or an empty text.", TWO, find),
    Function::new("mustRegexFind", GROUP, "The same as regexFind.", TWO, find),
    Function::new("regexFindAll", GROUP, "At most that many matches; all if negative.", COUNTED, find_all),
    Function::new("mustRegexFindAll", GROUP, "The same as regexFindAll.", COUNTED, find_all),
    Function::new(
        "regexReplaceAll",
        GROUP,
        "The text with all matches replaced; $1 is a group.",
        THREE,
        replace,
    ),
    Function::new("mustRegexReplaceAll", GROUP, "The same as regexReplaceAll.", THREE, replace),
    Function::new(
        "regexReplaceAllLiteral",
        GROUP,
        "The text with all matches replaced; $ means nothing.",
        THREE,
        replace_literal,
    ),
    Function::new(
        "mustRegexReplaceAllLiteral",
        GROUP,
        "The same as regexReplaceAllLiteral.",
        THREE,
        replace_literal,
    ),
    Function::new(
        "regexSplit",
        GROUP,
        "At most that many parts between matches; all if negative.",
        COUNTED,
        split,
    ),
    Function::new("mustRegexSplit", GROUP, "The same as regexSplit.", COUNTED, split),
    Function::new(
        "regexQuoteMeta",
        GROUP,
        "An expression that matches just this text.",
        &[TextParameter],
        quote_meta,
    ),
];

/// The expressions of one render, each compiled once.
#[derive(Default)]
pub(crate) struct Regexes(BTreeMap<Vec<u8>, Rc<Compiled>>);

struct Compiled {
    regex: Regex,
    /// The names of the groups, from the first one on.
    groups: Vec<String>,
}

/// Maximum number of compiled expressions that are kept.
const KEPT: usize = 16;

fn compiled<'a>(context: &mut Context<'a>, pattern: &[u8], length: usize) -> Result<Rc<Compiled>, Fault<'a>> {
    // In the worst case each byte of the text is compared with each part of the expression.
    context.heap.step(length / 256 * pattern.len())?;
    if let Some(known) = context.regexes.0.get(pattern) {
        return Ok(Rc::clone(known));
    }
    if pattern.len() > REGEX_BYTES {
        return Err(Fault::Limit(Limit::Regex));
    }
    context.heap.step(2_000 + 50 * pattern.len())?;
    let text =
        std::str::from_utf8(pattern).map_err(|_| Fault::failed("error parsing regexp: invalid UTF-8"))?;
    let translated = translate::translate(text)
        .map_err(|message| Fault::failed(format!("error parsing regexp: {message}: `{text}`")))?;
    let regex = RegexBuilder::new(&translated.expression)
        .size_limit(REGEX_PROGRAM_BYTES)
        .dfa_size_limit(REGEX_PROGRAM_BYTES)
        .nest_limit(100)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Fault::Limit(Limit::Regex),
            other => Fault::failed(format!("error parsing regexp: {other}")),
        })?;
    if context.regexes.0.len() >= KEPT {
        context.regexes.0.clear();
    }
    let compiled = Rc::new(Compiled { regex, groups: translated.groups });
    context.regexes.0.insert(pattern.to_vec(), Rc::clone(&compiled));
    Ok(compiled)
}

/// Compiles the first argument, an expression, for the text in the second one.
fn expression<'a>(
    context: &mut Context<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Rc<Compiled>, Fault<'a>> {
    let length = arguments.bytes(1)?.len();
    compiled(context, arguments.bytes(0)?, length)
}

fn must_match<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let compiled = expression(context, arguments)?;
    Ok(Value::Bool(Searched::new(arguments.bytes(1)?).has_match(&compiled.regex)))
}

fn matches<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    match must_match(context, arguments) {
        Err(Fault::Failed(_)) => Ok(Value::Bool(false)),
        other => other,
    }
}

fn find<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let compiled = expression(context, arguments)?;
    let searched = Searched::new(arguments.bytes(1)?);
    let found = searched.matches(&compiled.regex).next().unwrap_or_default();
    context.heap.text(searched.part(found).to_vec())
}

fn limit(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn find_all<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let compiled = expression(context, arguments)?;
    let searched = Searched::new(arguments.bytes(1)?);
    let mut found: Vec<Text<'a>> = Vec::new();
    for range in searched.matches(&compiled.regex).take(limit(arguments.int(2)?)) {
        let part = searched.part(range);
        context.heap.step(1)?;
        context.heap.charge(part.len() + 16)?;
        found.push(Text::from(part.to_vec()));
    }
    if found.is_empty() {
        return context.heap.nil_list(ListType::Text);
    }
    context.heap.texts(found)
}

/// The groups of one match.
struct Groups<'s, 't> {
    searched: &'s Searched<'t>,
    captures: Captures<'s>,
    names: &'s [String],
}

impl<'t> Groups<'_, 't> {
    /// Returns the group with that number or name, if it took part in the match.
    fn get(&self, name: &str) -> Option<&'t [u8]> {
        let group = match name.parse::<usize>() {
            Ok(index) if name.len() == 1 || !name.starts_with('0') => self.captures.get(index),
            // Several may have the name.
            _ => {
                let mut named = (1..).zip(self.names).filter(|(_, known)| *known == name);
                named.find_map(|(index, _)| self.captures.get(index))
            }
        };
        group.map(|group| self.searched.part(group.range()))
    }
}

fn replaced<'a>(
    context: &mut Context<'a>,
    arguments: &Arguments<'_, 'a>,
    replacement: impl Fn(&mut TextBuilder, &Groups<'_, '_>) -> Result<(), Fault<'a>>,
) -> Outcome<'a> {
    let compiled = expression(context, arguments)?;
    let searched = Searched::new(arguments.bytes(1)?);
    let mut result = TextBuilder::default();
    let mut end = 0;
    for (whole, captures) in searched.captures(&compiled.regex) {
        context.heap.step(1)?;
        result.push(searched.part(end..whole.start))?;
        replacement(&mut result, &Groups { searched: &searched, captures, names: &compiled.groups })?;
        end = whole.end;
    }
    result.push(searched.part(end..searched.length()))?;
    context.heap.text(result.finish())
}

fn replace_literal<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let literal = arguments.bytes(2)?;
    replaced(context, arguments, |result, _| result.push(literal))
}

fn replace<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let template = arguments.bytes(2)?;
    replaced(context, arguments, |result, groups| expand(result, template, groups))
}

/// Expands `$1`, `$name`, `${name}` and `$$` as Go's `Regexp.Expand` does.
fn expand<'a>(result: &mut TextBuilder, template: &[u8], groups: &Groups<'_, '_>) -> Result<(), Fault<'a>> {
    let mut rest = template;
    while let Some(dollar) = rest.iter().position(|byte| *byte == b'$') {
        result.push(rest.get(..dollar).unwrap_or_default())?;
        let after = rest.get(dollar + 1..).unwrap_or_default();
        if let Some(left) = after.strip_prefix(b"$") {
            result.push(b"$")?;
            rest = left;
            continue;
        }
        let Some((name, left)) = group_name(after) else {
            // Not a name: the dollar stands for itself.
            result.push(b"$")?;
            rest = after;
            continue;
        };
        result.push(groups.get(name).unwrap_or_default())?;
        rest = left;
    }
    result.push(rest)
}

/// Reads the name of a group after a dollar; returns it and the rest of the text.
fn group_name(text: &[u8]) -> Option<(&str, &[u8])> {
    let (braced, name) = match text.strip_prefix(b"{") {
        Some(name) => (true, name),
        None => (false, text),
    };
    let mut end = 0;
    while let Some((Some(character), width)) = name.get(end..).and_then(decode_character) {
        if !character.is_alphanumeric() && character != '_' {
            break;
        }
        end += width;
    }
    let (name, left) = name.split_at_checked(end)?;
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    if braced { left.strip_prefix(b"}").map(|left| (name, left)) } else { Some((name, left)) }
}

/// Splits a text as Go's `Regexp.Split` does.
fn split<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let compiled = expression(context, arguments)?;
    let (text, most) = (arguments.bytes(1)?, limit(arguments.int(2)?));
    if most == 0 {
        return context.heap.nil_list(ListType::Text);
    }
    if text.is_empty() && !arguments.bytes(0)?.is_empty() {
        return context.heap.texts([Text::from("")]);
    }
    let searched = Searched::new(text);
    let mut parts: Vec<&[u8]> = Vec::new();
    let (mut start, mut end) = (0, 0);
    for found in searched.matches(&compiled.regex).take(most) {
        context.heap.step(1)?;
        if parts.len() + 1 == most {
            break;
        }
        end = found.start;
        if found.end != 0 {
            parts.push(searched.part(start..end));
        }
        start = found.end;
    }
    if end != searched.length() {
        parts.push(searched.part(start..searched.length()));
    }
    context.heap.charge(text.len())?;
    let texts: Vec<Text<'a>> = parts.into_iter().map(|part| Text::from(part.to_vec())).collect();
    context.heap.texts(texts)
}

fn quote_meta<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut quoted = Vec::new();
    for byte in arguments.bytes(0)? {
        if br"\.+*?()|[]{}^$".contains(byte) {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    context.heap.text(quoted)
}

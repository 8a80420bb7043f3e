//! The functions that templates may call: Go's own and those of slim-sprig that always give the same answer.
//!
//! One table defines the functions: the parser refuses names that are not in it, the evaluator checks arguments
//! by it, and the documents are generated from it.

#![expect(clippy::unnecessary_wraps, reason = "all functions of the table have one shape")]

mod arguments;
mod builtins;
mod comparison;
mod conversion;
mod defaults;
mod dicts;
mod durations;
mod encoding;
mod escaping;
mod json;
mod lists;
mod math;
mod paths;
mod reflection;
mod regex;
mod strings;
mod url;

use std::fmt;

pub(super) use arguments::Arguments;
pub(super) use regex::Regexes;

use super::fault::Fault;
use super::value::{Heap, Value};

/// The state that a function uses besides its arguments.
#[derive(Default)]
pub(super) struct Context<'a> {
    pub heap: Heap<'a>,
    /// Regular expressions that were compiled in this render.
    pub regexes: Regexes,
}

/// The result of a function.
pub(super) type Outcome<'a> = Result<Value<'a>, Fault<'a>>;

type Run = for<'a> fn(&mut Context<'a>, &Arguments<'_, 'a>) -> Outcome<'a>;

/// The type that Go declares for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    Any,
    Bool,
    Int,
    Float,
    Text,
    /// `map[string]interface {}`
    Map,
}

impl Parameter {
    /// Returns Go's name of the type.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Parameter::Any => "interface {}",
            Parameter::Bool => "bool",
            Parameter::Int => "int",
            Parameter::Float => "float64",
            Parameter::Text => "string",
            Parameter::Map => "map[string]interface {}",
        }
    }
}

/// The behaviour of a function for a field that is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absence {
    /// It needs the value: the render waits for the field.
    Needed,
    /// It can answer without: the field may be absent.
    Allowed,
}

/// The calling convention of a function.
#[derive(Clone, Copy)]
pub(super) enum Body {
    /// All arguments are evaluated first.
    Eager(Run),
    /// `and` and `or`: the first argument whose truth is this one is the answer, and the others are not evaluated.
    Until(bool),
}

/// One function of the table.
pub(super) struct Function {
    pub name: &'static str,
    group: &'static str,
    summary: &'static str,
    pub parameters: &'static [Parameter],
    /// The type of all further arguments, if any number is allowed.
    pub rest: Option<Parameter>,
    pub absence: Absence,
    pub body: Body,
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Function {
    /// Creates a function that needs all its arguments.
    const fn new(
        name: &'static str,
        group: &'static str,
        summary: &'static str,
        parameters: &'static [Parameter],
        run: Run,
    ) -> Self {
        let body = Body::Eager(run);
        Function { name, group, summary, parameters, rest: None, absence: Absence::Needed, body }
    }

    /// Returns the same function with any number of further arguments.
    const fn rest(mut self, parameter: Parameter) -> Self {
        self.rest = Some(parameter);
        self
    }

    /// Returns the same function, whose arguments may be absent fields.
    const fn allows_absence(mut self) -> Self {
        self.absence = Absence::Allowed;
        self
    }

    /// Returns the type of the argument with this index.
    pub(super) fn parameter(&self, index: usize) -> Option<Parameter> {
        self.parameters.get(index).copied().or(self.rest)
    }
}

const GROUPS: &[&[Function]] = &[
    builtins::FUNCTIONS,
    comparison::FUNCTIONS,
    escaping::FUNCTIONS,
    strings::FUNCTIONS,
    conversion::FUNCTIONS,
    math::FUNCTIONS,
    durations::FUNCTIONS,
    lists::FUNCTIONS,
    dicts::FUNCTIONS,
    defaults::FUNCTIONS,
    json::FUNCTIONS,
    encoding::FUNCTIONS,
    regex::FUNCTIONS,
    reflection::FUNCTIONS,
    paths::FUNCTIONS,
    url::FUNCTIONS,
];

fn all() -> impl Iterator<Item = &'static Function> {
    GROUPS.iter().flat_map(|group| group.iter())
}

/// Stands for a function of another program in a source that is only parsed. It takes any arguments.
pub(super) static FOREIGN: Function =
    Function::new("", "", "", &[], |_, _| Ok(Value::NOTHING)).rest(Parameter::Any);

/// Finds the function of that name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}

/// Functions of slim-sprig that are left out, by the reason.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "it would give another answer tomorrow",
        &[
            "ago",
            "date",
            "date_in_zone",
            "date_modify",
            "dateInZone",
            "dateModify",
            "htmlDate",
            "htmlDateInZone",
            "must_date_modify",
            "mustDateModify",
            "mustToDate",
            "now",
            "randInt",
            "toDate",
            "unixEpoch",
        ],
    ),
    (
        "it would show the environment or the network of the program that renders",
        &["env", "expandenv", "getHostByName"],
    ),
];

/// Functions that Helm adds for its charts, with what to use instead.
const OF_HELM: &[(&str, &str)] = &[
    ("toYaml", "only Helm has it: use toJson, because JSON is YAML"),
    ("fromYaml", "only Helm has it: refer to the fields of the data"),
    ("fromJson", "only Helm has it: refer to the fields of the data"),
    ("include", "only Helm has it: use {{ template \"name\" . }}, whose text cannot be piped"),
    ("tpl", "only Helm has it: write its template here, because texts of the data are not rendered"),
    (
        "required",
        "only Helm has it: a field that does not exist is an error already; use {{ fail \"why\" }} for your own message",
    ),
    ("lookup", "only Helm has it: a template reads only the data that it is given"),
];

/// Returns the reason why a function of slim-sprig or Helm is left out, if the name is such a function.
pub(super) fn why_refused(name: &str) -> Option<&'static str> {
    let of_helm = || OF_HELM.iter().find(|(helm, _)| *helm == name).map(|(_, instead)| *instead);
    REFUSED.iter().find(|(_, names)| names.contains(&name)).map(|(reason, _)| *reason).or_else(of_helm)
}

/// Suggests the name of the function that was probably meant.
pub(super) fn similar(name: &str) -> Option<&'static str> {
    similar_in(name, all().map(|function| function.name))
}

/// Suggests the one of these names that was probably meant.
pub(super) fn similar_in(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    names
        .map(|known| (distance(name, known), known))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Counts the characters to change, add or leave out to get from one name to the other.
fn distance(from: &str, to: &str) -> usize {
    let mut previous: Vec<usize> = (0..=to.chars().count()).collect();
    for (row, expected) in from.chars().take(64).enumerate() {
        let mut current = vec![row + 1];
        let mut left = row + 1;
        for (found, pair) in to.chars().zip(previous.windows(2)) {
            let &[diagonal, above] = pair else { continue };
            let same = expected.eq_ignore_ascii_case(&found);
            left = (diagonal + usize::from(!same)).min(above + 1).min(left + 1);
            current.push(left);
        }
        previous = current;
    }
    previous.last().copied().unwrap_or_default()
}

/// The documentation of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// The name that templates call it by.
    pub name: &'static str,
    /// The group of functions it belongs to.
    pub group: &'static str,
    /// One sentence about the function.
    pub summary: &'static str,
    /// The smallest number of arguments.
    pub least_arguments: usize,
    /// The largest number of arguments, if there is one.
    pub most_arguments: Option<usize>,
}

/// Returns all functions, group by group.
pub fn functions() -> impl Iterator<Item = FunctionInfo> {
    all().map(|function| FunctionInfo {
        name: function.name,
        group: function.group,
        summary: function.summary,
        least_arguments: function.parameters.len(),
        most_arguments: function.rest.is_none().then_some(function.parameters.len()),
    })
}

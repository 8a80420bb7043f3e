//! Finds the reads of roots that the data never have. Such a field is absent in every render, so that what becomes of it
//! is known without rendering: the template waits for it, or only tests it.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Place;
use super::fields::FieldPath;
use super::functions::{Absence, Function, Parameter, similar_in};
use super::limits::{NESTING, OPEN};
use super::syntax::{Branches, Call, Command, Node, Operand, OperandKind, Pipeline, RangeNode, Templates};

/// Maximum depth of templates that are followed into each other.
const DEPTH: usize = 20;
/// Maximum number of followed nodes.
const NODES: usize = 100_000;

/// A read of a root that the data never have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutsideRead {
    /// The field, from the root of the data.
    pub field: FieldPath,
    /// Whether the template waits for the field as soon as it comes to this place, and the data decide whether it does;
    /// otherwise it only tests the field, or may never come here.
    pub is_needed: bool,
    /// The place of the read.
    pub place: Place,
    /// The root that was probably meant.
    pub suggestion: Option<String>,
}

/// Returns the reads of other roots than these, in the order of the source.
pub(super) fn outside(
    name: &str,
    source: &str,
    templates: &Templates,
    roots: &[&'static str],
) -> Vec<OutsideRead> {
    let mut reader = Reader {
        templates,
        roots,
        found: BTreeMap::new(),
        followed: BTreeSet::new(),
        nodes: 0,
        open: 0,
        unsure_operands: 0,
        data_operands: 0,
        is_unsure: false,
        may_have_left: false,
    };
    reader.template(name, &Value::Data, 0);
    let found = reader.found.into_iter();
    found
        .map(|(read, is_needed)| OutsideRead {
            is_needed,
            place: Place::at(name, source, read.offset),
            suggestion: read.segments.first().and_then(|root| suggestion(root, roots)),
            field: FieldPath::value(read.segments),
        })
        .collect()
}

fn suggestion(root: &str, roots: &[&'static str]) -> Option<String> {
    similar_in(root, roots.iter().copied()).map(str::to_owned)
}

/// A field with a root that the data never have, and the byte at which it is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Read {
    offset: usize,
    segments: Vec<String>,
}

/// What is known of a value without rendering.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    /// All data.
    Data,
    /// Nothing, whatever the data are.
    Absent(Read),
    /// Not decided by the data alone: made of absent values, of all data or of nothing, such as `not .absent`.
    Unsure,
    /// Any other value.
    Other,
}

struct Reader<'t, 'r> {
    templates: &'t Templates,
    roots: &'r [&'static str],
    /// The reads, and whether the template waits for each.
    found: BTreeMap<Read, bool>,
    /// Templates that were followed already, with their dot and whether no render may come to them.
    followed: BTreeSet<(String, Value, bool)>,
    nodes: usize,
    /// Number of open lists of nodes.
    open: usize,
    /// Number of operands so far that are absent or unsure.
    unsure_operands: usize,
    /// Number of operands so far that are decided by the data.
    data_operands: usize,
    /// Whether there may be no data for which a render comes to this place.
    is_unsure: bool,
    /// Whether a render may have left the body of the `range` at an earlier place, whatever the data are.
    may_have_left: bool,
}

type Variables = Vec<(String, Value)>;

impl Reader<'_, '_> {
    fn need(&mut self, value: &Value) {
        if let Value::Absent(read) = value
            && !self.is_unsure
        {
            self.found.insert(read.clone(), true);
        }
    }

    /// Returns a field of a value, and notes the read of a root that the data never have.
    fn field(&mut self, value: Value, names: &[String], offset: usize) -> Value {
        let mut segments = match value {
            Value::Data if names.first().is_some_and(|name| !self.roots.contains(&name.as_str())) => {
                Vec::new()
            }
            Value::Absent(read) if !names.is_empty() => read.segments,
            value if names.is_empty() => return value,
            Value::Unsure => return Value::Unsure,
            _ => return Value::Other,
        };
        segments.extend(names.iter().cloned());
        segments.truncate(NESTING);
        let read = Read { offset, segments };
        self.found.entry(read.clone()).or_insert(false);
        Value::Absent(read)
    }

    fn template(&mut self, name: &str, dot: &Value, depth: usize) {
        let Some(nodes) = self.templates.get(name) else { return };
        if depth == DEPTH || !self.followed.insert((name.to_owned(), dot.clone(), self.is_unsure)) {
            return;
        }
        let mut variables = vec![("$".to_owned(), dot.clone())];
        self.walk(nodes, dot, &mut variables, depth);
    }

    fn walk(&mut self, nodes: &[Node], dot: &Value, variables: &mut Variables, depth: usize) {
        if self.open == OPEN {
            return;
        }
        self.open += 1;
        let was_unsure = self.is_unsure;
        for node in nodes {
            self.nodes += 1;
            if self.nodes > NODES {
                break;
            }
            match node {
                Node::Text(_) => {}
                Node::Break | Node::Continue => {
                    self.may_have_left |= self.is_unsure;
                    // No render comes to the rest of the list.
                    self.is_unsure = true;
                }
                Node::Action(pipeline) => {
                    let value = self.pipeline(pipeline, dot, variables);
                    if pipeline.variables.is_empty() {
                        self.need(&value);
                    }
                }
                Node::Branches(branches) => self.branches(branches, dot, variables, depth),
                Node::Range(range) => self.range(range, dot, variables, depth),
                Node::Call(call) => self.call(call, dot, variables, depth),
            }
            self.is_unsure |= self.may_have_left;
        }
        self.is_unsure = was_unsure;
        self.open -= 1;
    }

    /// Walks the list for when `value` is true: no render comes to it if the value is absent.
    fn walk_if(
        &mut self,
        value: &Value,
        nodes: &[Node],
        dot: &Value,
        variables: &mut Variables,
        depth: usize,
    ) {
        let was_unsure = self.is_unsure;
        self.is_unsure |= matches!(value, Value::Absent(_) | Value::Unsure);
        let known = variables.len();
        self.walk(nodes, dot, variables, depth);
        variables.truncate(known);
        self.is_unsure = was_unsure;
    }

    fn branches(&mut self, branches: &Branches, dot: &Value, variables: &mut Variables, depth: usize) {
        let known = variables.len();
        let was_unsure = self.is_unsure;
        for (condition, body) in &branches.conditions {
            let value = self.pipeline(condition, dot, variables);
            let inside = if branches.moves_dot { &value } else { dot };
            self.walk_if(&value, body, inside, variables, depth);
            self.is_unsure |= may_always_hold(&value);
        }
        self.walk(&branches.otherwise, dot, variables, depth);
        self.is_unsure = was_unsure;
        variables.truncate(known);
    }

    fn range(&mut self, range: &RangeNode, dot: &Value, variables: &mut Variables, depth: usize) {
        let known = variables.len();
        let value = self.pipeline(&range.pipeline, dot, variables);
        let element = if value == Value::Other { Value::Other } else { Value::Unsure };
        for (_, variable) in variables.iter_mut().skip(known) {
            *variable = element.clone();
        }
        let may_have_left = std::mem::take(&mut self.may_have_left);
        self.walk_if(&value, &range.body, &element, variables, depth);
        self.may_have_left = may_have_left;
        let was_unsure = self.is_unsure;
        self.is_unsure |= may_always_hold(&value);
        self.walk(&range.otherwise, dot, variables, depth);
        self.is_unsure = was_unsure;
        variables.truncate(known);
    }

    fn call(&mut self, call: &Call, dot: &Value, variables: &mut Variables, depth: usize) {
        let dot = call.pipeline.as_ref().map_or(Value::Other, |of| self.pipeline(of, dot, variables));
        self.template(&call.name, &dot, depth + 1);
    }

    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Value, variables: &mut Variables) -> Value {
        let mut piped = None;
        let (unsure, data) = (self.unsure_operands, self.data_operands);
        for command in &pipeline.commands {
            piped = Some(self.command(command, piped.take(), dot, variables));
        }
        let mut value = piped.unwrap_or(Value::Other);
        if value == Value::Other && (self.unsure_operands > unsure || self.data_operands == data) {
            value = Value::Unsure;
        }
        for name in &pipeline.variables {
            if !pipeline.assigns {
                variables.push((name.clone(), value.clone()));
            } else if let Some((_, variable)) = variables.iter_mut().rev().find(|(known, _)| known == name) {
                // Whether a render comes here is not known.
                *variable = match value {
                    Value::Other if !self.is_unsure => Value::Other,
                    _ => Value::Unsure,
                };
            }
        }
        value
    }

    fn command(
        &mut self,
        command: &Command,
        piped: Option<Value>,
        dot: &Value,
        variables: &mut Variables,
    ) -> Value {
        match &command.first.kind {
            OperandKind::Function(function) => {
                self.function(function, &command.first, &command.others, piped, dot, variables)
            }
            _ => self.operand(&command.first, dot, variables),
        }
    }

    fn operand(&mut self, operand: &Operand, dot: &Value, variables: &mut Variables) -> Value {
        let offset = operand.span.start;
        let value = match &operand.kind {
            OperandKind::Function(function) => {
                return self.function(function, operand, &[], None, dot, variables);
            }
            OperandKind::Parentheses(pipeline) => return self.pipeline(pipeline, dot, variables),
            OperandKind::Nil | OperandKind::Bool(_) | OperandKind::Number(_) | OperandKind::Text(_) => {
                return Value::Other;
            }
            OperandKind::Dot => dot.clone(),
            OperandKind::Field(names) => self.field(dot.clone(), names, offset),
            OperandKind::Variable(name, names) => {
                let known = variables.iter().rev().find(|(known, _)| known == name);
                let value = known.map_or(Value::Other, |(_, value)| value.clone());
                self.field(value, names, offset)
            }
            OperandKind::Chain(inner, names) => {
                let value = self.operand(inner, dot, variables);
                self.field(value, names, offset)
            }
        };
        match value {
            Value::Absent(_) | Value::Unsure => self.unsure_operands += 1,
            Value::Data | Value::Other => self.data_operands += 1,
        }
        value
    }

    fn function(
        &mut self,
        function: &Function,
        operand: &Operand,
        others: &[Operand],
        piped: Option<Value>,
        dot: &Value,
        variables: &mut Variables,
    ) -> Value {
        match function.name {
            "and" => return self.all(others, piped, dot, variables),
            "or" => return self.any(others, piped, dot, variables),
            _ => {}
        }
        let mut arguments: Vec<Value> = Vec::with_capacity(others.len() + 1);
        arguments.extend(others.iter().map(|other| self.operand(other, dot, variables)));
        arguments.extend(piped);
        for (index, argument) in arguments.iter().enumerate() {
            // A parameter of one type takes nothing absent, except for maps.
            let takes_nothing =
                matches!(function.parameter(index), Some(Parameter::Any | Parameter::Map) | None);
            if function.absence == Absence::Needed || !takes_nothing {
                self.need(argument);
            }
        }
        match (function.name, arguments.as_slice()) {
            ("default", [other, given]) if is_absent(given) => other.clone(),
            ("index", [Value::Data, ..]) => match others.get(1).map(|key| &key.kind) {
                Some(OperandKind::Text(key)) => {
                    let name = String::from_utf8_lossy(key).into_owned();
                    self.field(Value::Data, &[name], operand.span.start)
                }
                _ => self.unsure(),
            },
            // Such as `hasKey . "absent"`.
            (_, all) if all.contains(&Value::Data) => self.unsure(),
            _ => Value::Other,
        }
    }

    /// Returns a value that absent fields may decide.
    fn unsure(&mut self) -> Value {
        self.unsure_operands += 1;
        Value::Unsure
    }

    /// Follows `and`: no render comes to what stands after an absent field, and maybe none to what stands after a value that
    /// absent fields decide.
    fn all(
        &mut self,
        others: &[Operand],
        piped: Option<Value>,
        dot: &Value,
        variables: &mut Variables,
    ) -> Value {
        let was_unsure = self.is_unsure;
        let mut absent = None;
        for other in others {
            let unsure = self.unsure_operands;
            let value = self.operand(other, dot, variables);
            self.is_unsure |= self.unsure_operands > unsure;
            if is_absent(&value) {
                absent.get_or_insert(value);
            }
        }
        self.is_unsure = was_unsure;
        absent.or(piped.filter(is_absent)).unwrap_or(Value::Other)
    }

    /// Follows `or`: every render comes to what stands after an absent field, but maybe none to what stands after a value
    /// that absent fields decide.
    fn any(
        &mut self,
        others: &[Operand],
        piped: Option<Value>,
        dot: &Value,
        variables: &mut Variables,
    ) -> Value {
        let was_unsure = self.is_unsure;
        let mut last = None;
        let mut all_absent = true;
        for other in others {
            let unsure = self.unsure_operands;
            let value = self.operand(other, dot, variables);
            self.is_unsure |= self.unsure_operands > unsure && !is_absent(&value);
            all_absent &= is_absent(&value);
            last = Some(value);
        }
        self.is_unsure = was_unsure;
        let last = piped.or(last);
        last.filter(|value| all_absent && is_absent(value)).unwrap_or(Value::Other)
    }
}

fn is_absent(value: &Value) -> bool {
    matches!(value, Value::Absent(_))
}

/// Whether a condition with this value may hold in every render.
fn may_always_hold(value: &Value) -> bool {
    matches!(value, Value::Unsure | Value::Data)
}

#[cfg(test)]
mod tests;

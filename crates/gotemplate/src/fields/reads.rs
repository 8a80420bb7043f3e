//! Follows the data through a template without rendering it.
//!
//! A value is known as the set of places that it may come from. A place is noted when the template reads its value. A
//! value whose place was noted as a whole is not followed further: everything in it is noted.

use std::collections::{BTreeMap, BTreeSet};

use super::super::functions::Function;
use super::super::limits::{NESTING, OPEN};
use super::super::syntax::{
    Branches, Call, Command, Node, Operand, OperandKind, Pipeline, RangeNode, Templates,
};
use super::{Extent, FieldPath, without_covered};

/// Maximum depth of templates that are followed into each other.
const DEPTH: usize = 20;
/// Maximum number of followed nodes, and of noted fields: beyond that the template may read anything.
const NODES: usize = 100_000;
const NOTED: usize = 1_000;
/// Maximum number of places and entries through which one value is followed: beyond that it counts as read as a whole.
const PLACES: usize = 32;

/// The places that a value may come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    /// Places in the data.
    places: BTreeSet<Vec<String>>,
    /// The content of a map made by the template, by its constant keys.
    entries: BTreeMap<String, Origin>,
}

impl Origin {
    fn root() -> Self {
        Origin { places: BTreeSet::from([Vec::new()]), entries: BTreeMap::new() }
    }

    fn field(&self, name: &str) -> Origin {
        let mut field = self.entries.get(name).cloned().unwrap_or_default();
        for place in &self.places {
            // No data are deeper: a longer path leads nowhere.
            let further = (place.len() < NESTING).then(|| name.to_owned());
            field.places.insert(place.iter().cloned().chain(further).collect());
        }
        field
    }

    /// Counts places and entries.
    fn weight(&self) -> usize {
        self.places.len() + self.entries.values().map(|entry| 1 + entry.weight()).sum::<usize>()
    }

    fn or(mut self, other: Origin) -> Origin {
        self.places.extend(other.places);
        for (key, entry) in other.entries {
            let merged = self.entries.remove(&key).unwrap_or_default().or(entry);
            self.entries.insert(key, merged);
        }
        self
    }
}

/// Returns all fields that the template of that name can read.
pub(crate) fn fields_read(name: &str, templates: &Templates) -> BTreeSet<FieldPath> {
    let mut reader =
        Reader { templates, noted: BTreeSet::new(), followed: BTreeSet::new(), nodes: 0, loops: 0, open: 0 };
    let root = Origin::root();
    reader.template(name, &root, 0);
    if reader.nodes > NODES || reader.noted.len() > NOTED {
        // Too much to follow: the template may read anything.
        return BTreeSet::from([FieldPath::new(Vec::new(), Extent::Below)]);
    }
    without_covered(&reader.noted)
}

struct Reader<'t> {
    templates: &'t Templates,
    noted: BTreeSet<FieldPath>,
    /// Templates that were followed already, with the origin of their dot.
    followed: BTreeSet<(String, Origin)>,
    nodes: usize,
    /// Number of open ranges.
    loops: usize,
    /// Number of open lists of nodes.
    open: usize,
}

type Variables = Vec<(String, Origin)>;

impl Reader<'_> {
    fn note(&mut self, origin: &Origin, extent: Extent) {
        for place in &origin.places {
            let is_whole = place.is_empty() && extent == Extent::Value;
            let extent = if is_whole { Extent::Below } else { extent };
            self.noted.insert(FieldPath::new(place.clone(), extent));
        }
        for entry in origin.entries.values() {
            // The presence of a map's entries does not depend on their values.
            if extent != Extent::Presence {
                self.note(entry, extent);
            }
        }
    }

    /// Returns the place of a field below a value, and notes the way to it: the access can fail, however the field is
    /// used.
    fn fields(&mut self, origin: &Origin, names: &[String]) -> Origin {
        let field = names.iter().take(NESTING).fold(origin.clone(), |origin, name| origin.field(name));
        for place in field.places.iter().filter(|_| !names.is_empty()) {
            self.noted.insert(FieldPath::new(place.clone(), Extent::Way));
        }
        field
    }

    /// Notes a value as a whole: nothing in it needs to be followed any further.
    fn consume(&mut self, origin: &Origin, extent: Extent) -> Origin {
        self.note(origin, extent);
        Origin::default()
    }

    fn template(&mut self, name: &str, dot: &Origin, depth: usize) {
        let Some(nodes) = self.templates.get(name) else {
            return;
        };
        if depth == DEPTH {
            self.note(dot, Extent::Below);
            return;
        }
        if !self.followed.insert((name.to_owned(), dot.clone())) {
            return;
        }
        let loops = std::mem::take(&mut self.loops);
        let mut variables = vec![("$".to_owned(), dot.clone())];
        self.walk(nodes, dot, &mut variables, depth);
        self.loops = loops;
    }

    fn walk(&mut self, nodes: &[Node], dot: &Origin, variables: &mut Variables, depth: usize) {
        if self.open == OPEN {
            self.nodes = NODES + 1;
            return;
        }
        self.open += 1;
        self.walk_open(nodes, dot, variables, depth);
        self.open -= 1;
    }

    fn walk_open(&mut self, nodes: &[Node], dot: &Origin, variables: &mut Variables, depth: usize) {
        for node in nodes {
            self.nodes += 1;
            if self.nodes > NODES || self.noted.len() > NOTED {
                return;
            }
            match node {
                Node::Text(_) | Node::Break | Node::Continue => {}
                Node::Action(pipeline) => {
                    let origin = self.pipeline(pipeline, dot, variables, depth);
                    if pipeline.variables.is_empty() {
                        self.note(&origin, Extent::Value);
                    }
                }
                Node::Branches(branches) => self.branches(branches, dot, variables, depth),
                Node::Range(range) => self.range(range, dot, variables, depth),
                Node::Call(call) => self.call(call, dot, variables, depth),
            }
        }
    }

    fn branches(&mut self, branches: &Branches, dot: &Origin, variables: &mut Variables, depth: usize) {
        let known = variables.len();
        for (condition, body) in &branches.conditions {
            let origin = self.pipeline(condition, dot, variables, depth);
            self.note(&origin, Extent::Presence);
            let inside = variables.len();
            self.walk(body, if branches.moves_dot { &origin } else { dot }, variables, depth);
            variables.truncate(inside);
        }
        self.walk(&branches.otherwise, dot, variables, depth);
        variables.truncate(known);
    }

    fn range(&mut self, range: &RangeNode, dot: &Origin, variables: &mut Variables, depth: usize) {
        let known = variables.len();
        self.loops += 1;
        let origin = self.pipeline(&range.pipeline, dot, variables, depth);
        let element = self.consume(&origin, Extent::Below);
        for (_, variable) in variables.iter_mut().skip(known) {
            *variable = Origin::default();
        }
        let inside = variables.len();
        self.walk(&range.body, &element, variables, depth);
        variables.truncate(inside);
        self.loops -= 1;
        self.walk(&range.otherwise, dot, variables, depth);
        variables.truncate(known);
    }

    fn call(&mut self, call: &Call, dot: &Origin, variables: &mut Variables, depth: usize) {
        let dot = match &call.pipeline {
            Some(pipeline) => self.pipeline(pipeline, dot, variables, depth),
            None => Origin::default(),
        };
        self.template(&call.name, &dot, depth + 1);
    }

    fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        dot: &Origin,
        variables: &mut Variables,
        depth: usize,
    ) -> Origin {
        let mut piped = None;
        for command in &pipeline.commands {
            piped = Some(self.command(command, piped.take(), dot, variables, depth));
        }
        let origin = piped.unwrap_or_default();
        for name in &pipeline.variables {
            if !pipeline.assigns {
                variables.push((name.clone(), origin.clone()));
            } else if self.loops > 0 {
                // The next iteration may read the value in places that were followed already.
                self.note(&origin, Extent::Value);
            } else if let Some((_, variable)) = variables.iter_mut().rev().find(|(known, _)| known == name) {
                let merged = std::mem::take(variable).or(origin.clone());
                *variable = self.limited(merged);
            }
        }
        origin
    }

    fn command(
        &mut self,
        command: &Command,
        piped: Option<Origin>,
        dot: &Origin,
        variables: &mut Variables,
        depth: usize,
    ) -> Origin {
        if let OperandKind::Function(function) = &command.first.kind {
            return self.function(function, &command.others, piped, dot, variables, depth);
        }
        self.operand(&command.first, dot, variables, depth)
    }

    fn operand(
        &mut self,
        operand: &Operand,
        dot: &Origin,
        variables: &mut Variables,
        depth: usize,
    ) -> Origin {
        self.nodes += 1;
        match &operand.kind {
            OperandKind::Function(function) => self.function(function, &[], None, dot, variables, depth),
            OperandKind::Dot => dot.clone(),
            OperandKind::Field(names) => self.fields(dot, names),
            OperandKind::Variable(name, names) => {
                let variable = variables.iter().rev().find(|(known, _)| known == name);
                let origin = variable.map(|(_, origin)| origin.clone()).unwrap_or_default();
                self.fields(&origin, names)
            }
            OperandKind::Parentheses(pipeline) => self.pipeline(pipeline, dot, variables, depth),
            OperandKind::Chain(inner, names) => {
                let origin = self.operand(inner, dot, variables, depth);
                self.fields(&origin, names)
            }
            OperandKind::Nil | OperandKind::Bool(_) | OperandKind::Number(_) | OperandKind::Text(_) => {
                Origin::default()
            }
        }
    }

    fn function(
        &mut self,
        function: &Function,
        others: &[Operand],
        piped: Option<Origin>,
        dot: &Origin,
        variables: &mut Variables,
        depth: usize,
    ) -> Origin {
        let mut arguments: Vec<Argument> = Vec::with_capacity(others.len() + 1);
        for other in others {
            let origin = self.operand(other, dot, variables, depth);
            arguments.push(Argument { origin, constant: constant(other) });
        }
        arguments.extend(piped.map(|origin| Argument { origin, constant: None }));
        let origin = self.result(function.name, arguments);
        self.limited(origin)
    }

    /// Reads a value as a whole if it may come from too many places.
    fn limited(&mut self, origin: Origin) -> Origin {
        if origin.weight() > PLACES { self.consume(&origin, Extent::Value) } else { origin }
    }

    /// Notes the places that a function reads, and returns those that its result may come from.
    fn result(&mut self, name: &str, arguments: Vec<Argument>) -> Origin {
        match (name, arguments.as_slice()) {
            // One of the arguments as it is, chosen by whether they are empty.
            ("and" | "or" | "default" | "coalesce", _) => {
                for argument in &arguments {
                    self.note(&argument.origin, Extent::Presence);
                }
                arguments.into_iter().fold(Origin::default(), |all, argument| all.or(argument.origin))
            }
            ("ternary", [yes, no, condition]) => {
                self.note(&condition.origin, Extent::Value);
                yes.origin.clone().or(no.origin.clone())
            }
            ("not" | "empty" | "any" | "all", _) => self.consume_all(&arguments, Extent::Presence),
            ("index", [start, keys @ ..]) => self.steps(start, keys),
            ("get", [map, key]) => self.steps(map, std::slice::from_ref(key)),
            ("hasKey", [map, key]) => {
                let origin = self.steps(map, std::slice::from_ref(key));
                self.consume(&origin, Extent::Value)
            }
            ("dig", [keys @ .., default, start]) => {
                let found = self.steps(start, keys);
                found.or(default.origin.clone())
            }
            ("dict", _) => self.dict(&arguments),
            ("set", [map, key, value]) => {
                self.note(&key.origin, Extent::Value);
                self.note(&value.origin, Extent::Value);
                // Nothing can be set in a map that is absent.
                self.note(&map.origin, Extent::Value);
                map.origin.clone()
            }
            (
                "keys" | "values" | "pick" | "omit" | "pluck" | "toJson" | "mustToJson" | "toPrettyJson"
                | "mustToPrettyJson" | "toRawJson" | "mustToRawJson",
                _,
            ) => self.consume_all(&arguments, Extent::Below),
            _ => self.consume_all(&arguments, Extent::Value),
        }
    }

    fn consume_all(&mut self, arguments: &[Argument], extent: Extent) -> Origin {
        for argument in arguments {
            self.note(&argument.origin, extent);
        }
        Origin::default()
    }

    /// Returns the place that the keys lead to; everything below if a key is not known before rendering.
    fn steps(&mut self, start: &Argument, keys: &[Argument]) -> Origin {
        let mut origin = start.origin.clone();
        for key in keys {
            self.note(&key.origin, Extent::Value);
            origin = match &key.constant {
                Some(key) => self.fields(&origin, std::slice::from_ref(key)),
                None => self.consume(&origin, Extent::Below),
            };
        }
        origin
    }

    fn dict(&mut self, arguments: &[Argument]) -> Origin {
        let mut origin = Origin::default();
        for pair in arguments.chunks(2) {
            let [key, value @ ..] = pair else { continue };
            self.note(&key.origin, Extent::Value);
            let Some(value) = value.first() else { continue };
            match &key.constant {
                Some(key) => {
                    origin.entries.insert(key.clone(), value.origin.clone());
                }
                None => self.note(&value.origin, Extent::Value),
            }
        }
        origin
    }
}

/// An argument of a function: its origin, and its text or number if it is a literal.
struct Argument {
    origin: Origin,
    constant: Option<String>,
}

fn constant(operand: &Operand) -> Option<String> {
    match &operand.kind {
        OperandKind::Text(text) => String::from_utf8(text.clone()).ok(),
        OperandKind::Number(number) => number.integer.map(|integer| integer.to_string()),
        _ => None,
    }
}

//! Renders a syntax tree, by the rules of Go's `text/template/exec.go`.

mod pipeline;

use super::error::{Place, RenderError};
use super::fault::Fault;
use super::fields::FieldPath;
use super::format::Printer;
use super::functions::Context;
use super::limits::{CALLS, Limit, OPEN, OUTPUT_BYTES};
use super::syntax::{Branches, Call, Node, RangeNode, Templates};
use super::value::Value;

/// Renders the template called `name` with the data as its dot.
pub(super) fn render(
    name: &str,
    source: &str,
    templates: &Templates,
    data: &serde_json::Value,
) -> Result<String, RenderError> {
    let mut context = Context::default();
    let dot = context.heap.root(data);
    let mut evaluator = Evaluator {
        source,
        templates,
        context,
        output: Vec::new(),
        variables: vec![("$", dot.clone())],
        visible: 0,
        at: 0,
        calls: 0,
        open: 0,
    };
    let nodes = templates.get(name).map(Vec::as_slice).unwrap_or_default();
    let rendered = evaluator.walk(&dot, nodes);
    let place = || Place::at(name, source, evaluator.at);
    match rendered {
        Ok(_) => String::from_utf8(evaluator.output).map_err(|_| RenderError::Failed {
            place: Place::at(name, source, 0),
            message: "the output is not UTF-8: a text was cut inside a character".to_owned(),
        }),
        Err(Fault::Failed(message)) => Err(RenderError::Failed { place: place(), message }),
        Err(Fault::Limit(limit)) => Err(RenderError::Limit { limit, place: place() }),
        Err(Fault::Missing(path)) => {
            let path =
                FieldPath::value(path.names().into_iter().map(|segment| segment.to_str().into_owned()));
            Err(RenderError::Missing { path, place: place() })
        }
    }
}

/// The way in which a list of nodes ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

type Walked<'a> = Result<Flow, Fault<'a>>;

struct Evaluator<'a> {
    source: &'a str,
    templates: &'a Templates,
    context: Context<'a>,
    output: Vec<u8>,
    variables: Vec<(&'a str, Value<'a>)>,
    /// The first variable that the running template sees: it inherits none.
    visible: usize,
    /// The byte of the source that is being evaluated, for errors.
    at: usize,
    calls: usize,
    open: usize,
}

impl<'a> Evaluator<'a> {
    /// Runs `inside` one block, pipeline or call deeper.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Fault<'a>>) -> Result<T, Fault<'a>> {
        if self.open == OPEN {
            return Err(Fault::Limit(Limit::Depth));
        }
        self.open += 1;
        let result = inside(self);
        self.open -= 1;
        result
    }

    fn walk(&mut self, dot: &Value<'a>, nodes: &'a [Node]) -> Walked<'a> {
        for node in nodes {
            self.context.heap.step(1)?;
            let flow = match node {
                Node::Text(span) => {
                    self.at = span.start;
                    let source = self.source;
                    self.write(source.get(span.clone()).unwrap_or_default().as_bytes())?;
                    Flow::Next
                }
                Node::Action(pipeline) => {
                    let value = self.pipeline(dot, pipeline)?;
                    if pipeline.variables.is_empty() {
                        self.at = pipeline.offset;
                        self.print(&value)?;
                    }
                    Flow::Next
                }
                Node::Branches(branches) => self.deeper(|inside| inside.branches(dot, branches))?,
                Node::Range(range) => self.deeper(|inside| inside.range(dot, range))?,
                Node::Call(call) => {
                    self.deeper(|inside| inside.call(dot, call))?;
                    Flow::Next
                }
                Node::Break => Flow::Break,
                Node::Continue => Flow::Continue,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Fault<'a>> {
        if self.output.len() + bytes.len() > OUTPUT_BYTES {
            return Err(Fault::Limit(Limit::Output));
        }
        self.output.extend_from_slice(bytes);
        Ok(())
    }

    fn print(&mut self, value: &Value<'a>) -> Result<(), Fault<'a>> {
        if let Some(path) = value.missing_field() {
            return Err(Fault::Missing(path.clone()));
        }
        match value {
            Value::Nil(_) => self.write(b"<no value>"),
            Value::Text(text) => self.write(text.bytes()),
            _ => {
                let mut printer = Printer::new(&mut self.context.heap);
                printer.print(std::slice::from_ref(value))?;
                let text = printer.finish()?;
                self.write(&text)
            }
        }
    }

    fn branches(&mut self, dot: &Value<'a>, branches: &'a Branches) -> Walked<'a> {
        let known = self.variables.len();
        let flow = self.first_branch(dot, branches);
        self.variables.truncate(known);
        flow
    }

    fn first_branch(&mut self, dot: &Value<'a>, branches: &'a Branches) -> Walked<'a> {
        for (condition, body) in &branches.conditions {
            let value = self.pipeline(dot, condition)?;
            if value.truth(&self.context.heap) {
                return self.walk(if branches.moves_dot { &value } else { dot }, body);
            }
        }
        self.walk(dot, &branches.otherwise)
    }

    fn range(&mut self, dot: &Value<'a>, range: &'a RangeNode) -> Walked<'a> {
        let known = self.variables.len();
        let flow = self.iterate(dot, range);
        self.variables.truncate(known);
        // A break in the else of a range leaves this range, not the one around it.
        Ok(if flow? == Flow::Continue { Flow::Continue } else { Flow::Next })
    }

    /// Returns [`Flow::Continue`] only from the else: there it belongs to the range around this one.
    fn iterate(&mut self, dot: &Value<'a>, range: &'a RangeNode) -> Walked<'a> {
        let value = self.pipeline(dot, &range.pipeline)?;
        self.at = range.pipeline.offset;
        let mut ran = false;
        match value {
            Value::Nil(_) => {}
            Value::List(list) => {
                for (index, item) in self.context.heap.items(list).iter().enumerate() {
                    ran = true;
                    let index = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                    if self.iteration(range, index, item)? == Flow::Break {
                        return Ok(Flow::Next);
                    }
                }
            }
            Value::Map(map) => {
                for (key, item) in self.context.heap.entries(map).iter() {
                    ran = true;
                    if self.iteration(range, Value::Text(key.clone()), item)? == Flow::Break {
                        return Ok(Flow::Next);
                    }
                }
            }
            Value::Int(count) | Value::Int64(count) => {
                let is_int = matches!(value, Value::Int(_));
                return self.count(dot, range, count, if is_int { Value::Int } else { Value::Int64 });
            }
            Value::Byte(count) => {
                return self.count(dot, range, i64::from(count), |number| {
                    Value::Byte(u8::try_from(number).unwrap_or(u8::MAX))
                });
            }
            other => return Err(self.cannot_iterate(&other)),
        }
        if ran { Ok(Flow::Next) } else { self.walk(dot, &range.otherwise) }
    }

    fn cannot_iterate(&mut self, value: &Value<'a>) -> Fault<'a> {
        let type_name = value.type_name(&self.context.heap);
        Fault::failed(format!("range can't iterate over a value of type {type_name}"))
    }

    /// Evaluates `range` over a number: once for each number from 0 to before it.
    fn count(
        &mut self,
        dot: &Value<'a>,
        range: &'a RangeNode,
        count: i64,
        number: impl Fn(i64) -> Value<'a>,
    ) -> Walked<'a> {
        if range.pipeline.variables.len() > 1 {
            return Err(Fault::failed(format!("can't use {count} to iterate over more than one variable")));
        }
        if count <= 0 {
            return self.walk(dot, &range.otherwise);
        }
        for index in 0..count {
            if self.iteration(range, Value::NOTHING, &number(index))? == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn iteration(&mut self, range: &'a RangeNode, index: Value<'a>, item: &Value<'a>) -> Walked<'a> {
        self.context.heap.step(1)?;
        let known = self.variables.len();
        match range.pipeline.variables.as_slice() {
            [] => {}
            [element] => self.set_range_variable(range, element, 1, item.clone())?,
            [key, element, ..] => {
                self.set_range_variable(range, key, 2, index)?;
                self.set_range_variable(range, element, 1, item.clone())?;
            }
        }
        let flow = self.walk(item, &range.body);
        self.variables.truncate(known);
        flow
    }

    /// Sets a variable of a range: the one with this place from the top, or the existing one of that name.
    fn set_range_variable(
        &mut self,
        range: &'a RangeNode,
        name: &str,
        from_top: usize,
        value: Value<'a>,
    ) -> Result<(), Fault<'a>> {
        if range.pipeline.assigns {
            return self.assign(name, value);
        }
        let index = self.variables.len().checked_sub(from_top);
        if let Some((_, variable)) = index.and_then(|index| self.variables.get_mut(index)) {
            *variable = value;
        }
        Ok(())
    }

    fn call(&mut self, dot: &Value<'a>, call: &'a Call) -> Result<(), Fault<'a>> {
        self.at = call.offset;
        let templates = self.templates;
        let Some(nodes) = templates.get(&call.name) else {
            return Err(Fault::failed(format!("template {:?} not defined", call.name)));
        };
        if self.calls == CALLS {
            return Err(Fault::Limit(Limit::Depth));
        }
        let dot = match &call.pipeline {
            Some(pipeline) => self.pipeline(dot, pipeline)?,
            None => Value::NOTHING,
        };
        let (known, visible) = (self.variables.len(), self.visible);
        self.visible = known;
        self.variables.push(("$", dot.clone()));
        self.calls += 1;
        let flow = self.walk(&dot, nodes);
        self.calls -= 1;
        self.variables.truncate(known);
        self.visible = visible;
        flow.map(|_| ())
    }
}

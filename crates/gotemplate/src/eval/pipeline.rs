//! Pipelines: commands, their operands, fields and function calls.

use super::super::fault::Fault;
use super::super::functions::{Absence, Arguments, Body, Function, Outcome, Parameter};
use super::super::limits::NESTING;
use super::super::syntax::{Command, Number, Operand, OperandKind, Pipeline};
use super::super::value::{FieldNames, MapType, Nil, Text, Value};
use super::Evaluator;

impl<'a> Evaluator<'a> {
    /// Evaluates a pipeline. Variables that it declares stay until the block around it ends.
    pub(super) fn pipeline(&mut self, dot: &Value<'a>, pipeline: &'a Pipeline) -> Outcome<'a> {
        self.at = pipeline.offset;
        let mut piped = None;
        for command in &pipeline.commands {
            let value = self.deeper(|inside| inside.command(dot, command, piped.take()))?;
            piped = Some(value.into_result());
        }
        let value = piped.unwrap_or(Value::NOTHING);
        for name in &pipeline.variables {
            if pipeline.assigns {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    /// Sets the variable of that name that was declared last.
    pub(super) fn assign(&mut self, name: &str, value: Value<'a>) -> Result<(), Fault<'a>> {
        let visible = self.variables.get_mut(self.visible..).unwrap_or_default();
        match visible.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, variable)) => {
                *variable = value;
                Ok(())
            }
            None => Err(Fault::failed(format!("undefined variable: {name}"))),
        }
    }

    fn variable(&mut self, name: &str) -> Outcome<'a> {
        self.context.heap.step((self.variables.len() - self.visible) / 16)?;
        let visible = self.variables.get(self.visible..).unwrap_or_default();
        match visible.iter().rev().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(value.clone()),
            None => Err(Fault::failed(format!("undefined variable: {name}"))),
        }
    }

    fn command(&mut self, dot: &Value<'a>, command: &'a Command, piped: Option<Value<'a>>) -> Outcome<'a> {
        self.context.heap.step(1)?;
        let first = &command.first;
        let has_arguments = !command.others.is_empty() || piped.is_some();
        self.at = first.span.start;
        match &first.kind {
            OperandKind::Function(function) => self.function(dot, function, first, &command.others, piped),
            OperandKind::Field(names) => {
                let value = self.fields(dot.clone(), names, has_arguments)?;
                Ok(named(value, None, names))
            }
            OperandKind::Chain(..) => self.chain(dot, first, has_arguments),
            OperandKind::Variable(name, names) if !names.is_empty() => {
                let value = self.variable(name)?;
                let value = self.fields(value, names, has_arguments)?;
                Ok(named(value, Some(name), names))
            }
            _ if has_arguments => {
                Err(Fault::failed(format!("can't give argument to non-function {}", self.words(first))))
            }
            OperandKind::Nil => Err(Fault::failed("nil is not a command")),
            _ => self.operand(dot, first),
        }
    }

    /// Returns the source of an operand, for messages.
    fn words(&self, operand: &Operand) -> &'a str {
        self.source.get(operand.span.clone()).unwrap_or_default()
    }

    /// Evaluates an operand of any type.
    fn operand(&mut self, dot: &Value<'a>, operand: &'a Operand) -> Outcome<'a> {
        self.at = operand.span.start;
        match &operand.kind {
            OperandKind::Function(function) => self.function(dot, function, operand, &[], None),
            OperandKind::Dot => Ok(dot.clone()),
            OperandKind::Nil => Ok(Value::NOTHING),
            OperandKind::Bool(value) => Ok(Value::Bool(*value)),
            OperandKind::Number(number) => self.constant(*number, operand),
            OperandKind::Text(text) => Ok(Value::Text(Text::Borrowed(text))),
            OperandKind::Field(names) => {
                let value = self.fields(dot.clone(), names, false)?;
                Ok(named(value, None, names))
            }
            OperandKind::Variable(name, names) if names.is_empty() => self.variable(name),
            OperandKind::Variable(name, names) => {
                let value = self.variable(name)?;
                let value = self.fields(value, names, false)?;
                Ok(named(value, Some(name), names))
            }
            OperandKind::Parentheses(pipeline) => self.deeper(|inside| inside.pipeline(dot, pipeline)),
            OperandKind::Chain(..) => self.chain(dot, operand, false),
        }
    }

    /// Evaluates a number whose context requires no type: its spelling decides.
    fn constant(&self, number: Number, operand: &Operand) -> Outcome<'a> {
        match number.integer {
            _ if number.prefers_float => Ok(Value::Float(number.float)),
            Some(integer) => Ok(Value::Int(integer)),
            None => Err(Fault::failed(format!("{} overflows int", self.words(operand)))),
        }
    }

    fn chain(&mut self, dot: &Value<'a>, operand: &'a Operand, has_arguments: bool) -> Outcome<'a> {
        let OperandKind::Chain(inner, names) = &operand.kind else {
            return self.operand(dot, operand);
        };
        let value = self.operand(dot, inner)?;
        self.at = operand.span.start;
        self.fields(value, names, has_arguments)
    }

    fn fields(&mut self, value: Value<'a>, names: &'a [String], has_arguments: bool) -> Outcome<'a> {
        self.context.heap.step(names.len() / 8)?;
        let mut value = value;
        for (index, name) in names.iter().enumerate() {
            let has_arguments = has_arguments && index + 1 == names.len();
            value = self.field(value, name, has_arguments)?;
        }
        Ok(value)
    }

    fn field(&mut self, value: Value<'a>, name: &'a str, has_arguments: bool) -> Outcome<'a> {
        match value {
            Value::Nil(Nil::Nothing) => Ok(Value::NOTHING),
            Value::Nil(Nil::Empty) => {
                Err(Fault::failed(format!("nil pointer evaluating interface {{}}.{name}")))
            }
            // Go fails below a null. It counts as absent here: objects lose and gain nulls without a meaning.
            Value::Nil(Nil::Absent(path) | Nil::Null(path)) => {
                Ok(Value::Nil(Nil::Absent(extended(path, name))))
            }
            Value::Map(_) if has_arguments => {
                Err(Fault::failed(format!("{name} is not a method but has arguments")))
            }
            Value::Map(map) => Ok(self.context.heap.field(map, &Text::from(name))),
            other => {
                let type_name = other.type_name(&self.context.heap);
                Err(Fault::failed(format!("can't evaluate field {name} in type {type_name}")))
            }
        }
    }

    fn function(
        &mut self,
        dot: &Value<'a>,
        function: &'static Function,
        operand: &'a Operand,
        others: &'a [Operand],
        piped: Option<Value<'a>>,
    ) -> Outcome<'a> {
        let is_needed = |value: &Value<'a>| match value.missing_field() {
            Some(path) if function.absence == Absence::Needed => Err(Fault::Missing(path.clone())),
            _ => Ok(()),
        };
        piped.as_ref().map_or(Ok(()), is_needed)?;
        let count = others.len() + usize::from(piped.is_some());
        check_count(function, count, others.len())?;
        let run = match function.body {
            Body::Until(truth) => return self.until(truth, dot, others, piped),
            Body::Eager(run) => run,
        };
        let mut values = Vec::with_capacity(count);
        for (index, other) in others.iter().enumerate() {
            let parameter = function.parameter(index).unwrap_or(Parameter::Any);
            let value = self.argument(dot, other, parameter, function.absence)?;
            is_needed(&value)?;
            values.push(value);
        }
        if let Some(piped) = piped {
            let parameter = function.parameter(others.len()).unwrap_or(Parameter::Any);
            values.push(self.convert(piped, parameter, function.absence)?);
        }
        self.at = operand.span.start;
        for value in &values {
            match value {
                Value::Text(text) => self.context.heap.step_bytes(text.bytes().len())?,
                Value::List(list) => {
                    let length = self.context.heap.list_length(*list);
                    self.context.heap.step(length / 32)?;
                }
                _ => {}
            }
        }
        self.context.heap.step(1)?;
        run(&mut self.context, &Arguments::new(&values)).map_err(|fault| match fault {
            Fault::Failed(message) => Fault::Failed(format!("error calling {}: {message}", function.name)),
            other => other,
        })
    }

    /// Evaluates `and` and `or`: returns the first argument with this truth, otherwise the last one.
    fn until(
        &mut self,
        truth: bool,
        dot: &Value<'a>,
        others: &'a [Operand],
        piped: Option<Value<'a>>,
    ) -> Outcome<'a> {
        let mut last = Value::NOTHING;
        for other in others {
            last = self.argument(dot, other, Parameter::Any, Absence::Allowed)?;
            if last.truth(&self.context.heap) == truth {
                return Ok(last);
            }
        }
        Ok(piped.unwrap_or(last))
    }

    /// Evaluates an operand as an argument of that type.
    fn argument(
        &mut self,
        dot: &Value<'a>,
        operand: &'a Operand,
        parameter: Parameter,
        absence: Absence,
    ) -> Outcome<'a> {
        self.at = operand.span.start;
        let words = self.words(operand);
        match (&operand.kind, parameter) {
            (OperandKind::Nil, Parameter::Any) => Ok(Value::NOTHING),
            (OperandKind::Nil, Parameter::Map) => self.convert(Value::NOTHING, parameter, absence),
            (OperandKind::Nil, _) => {
                Err(Fault::failed(format!("cannot assign nil to {}", parameter.type_name())))
            }
            (OperandKind::Bool(value), Parameter::Bool) => Ok(Value::Bool(*value)),
            (OperandKind::Number(Number { integer: Some(integer), .. }), Parameter::Int) => {
                Ok(Value::Int(*integer))
            }
            (OperandKind::Number(number), Parameter::Float) => Ok(Value::Float(number.float)),
            (OperandKind::Text(text), Parameter::Text) => Ok(Value::Text(Text::Borrowed(text))),
            (OperandKind::Bool(_) | OperandKind::Number(_) | OperandKind::Text(_), expected)
                if expected != Parameter::Any =>
            {
                Err(Fault::failed(format!("expected {}; found {words}", expected.type_name())))
            }
            _ => {
                let value = self.deeper(|inside| inside.operand(dot, operand))?;
                self.convert(value, parameter, absence)
            }
        }
    }

    /// Returns the value if it fits an argument of that type, otherwise an error. As in Go, nothing is converted.
    fn convert(&mut self, value: Value<'a>, parameter: Parameter, absence: Absence) -> Outcome<'a> {
        let fits = match (&value, parameter) {
            (_, Parameter::Any)
            | (Value::Bool(_), Parameter::Bool)
            | (Value::Int(_), Parameter::Int)
            | (Value::Float(_), Parameter::Float)
            | (Value::Text(_), Parameter::Text) => true,
            (Value::Map(map), Parameter::Map) => self.context.heap.map_type(*map) == MapType::Any,
            (Value::Nil(Nil::Absent(_) | Nil::Null(_)), Parameter::Map) if absence == Absence::Allowed => {
                return Ok(Value::Map(self.context.heap.nil_map()?));
            }
            (Value::Nil(Nil::Absent(path) | Nil::Null(path)), _) => return Err(Fault::Missing(path.clone())),
            (Value::Nil(Nil::Nothing), Parameter::Map) => {
                return Ok(Value::Map(self.context.heap.nil_map()?));
            }
            _ => false,
        };
        if fits {
            return Ok(value);
        }
        let expected = parameter.type_name();
        Err(Fault::failed(match value {
            Value::Nil(Nil::Nothing) => format!("invalid value; expected {expected}"),
            other => {
                let found = other.type_name(&self.context.heap);
                format!("wrong type for value; expected {expected}; got {found}")
            }
        }))
    }
}

/// Returns the path of a field below one that is absent.
fn extended<'a>(path: FieldNames<'a>, name: &'a str) -> FieldNames<'a> {
    // The path is for readers: an endless chain needs no longer one.
    if path.depth() < NESTING { path.below(Text::from(name)) } else { path }
}

/// Names an absent field. A value that is not part of the data has the name that the template uses for it.
fn named<'a>(value: Value<'a>, variable: Option<&'a str>, names: &'a [String]) -> Value<'a> {
    let Value::Nil(Nil::Nothing) = value else {
        return value;
    };
    let path = variable.into_iter().chain(names.iter().map(String::as_str)).map(Text::from).take(NESTING);
    Value::Nil(Nil::Absent(path.collect()))
}

fn check_count<'a>(function: &Function, count: usize, written: usize) -> Result<(), Fault<'a>> {
    let least = function.parameters.len();
    let name = function.name;
    match function.rest {
        Some(_) if count < least => Err(Fault::failed(format!(
            "wrong number of args for {name}: want at least {least} got {written}"
        ))),
        None if count != least => {
            Err(Fault::failed(format!("wrong number of args for {name}: want {least} got {count}")))
        }
        _ => Ok(()),
    }
}

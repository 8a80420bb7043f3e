//! Pipelines: declarations, commands and their operands.

use super::super::functions;
use super::super::lex::{Keyword, Kind, Token};
use super::super::limits::VARIABLES;
use super::super::syntax::{Command, Operand, OperandKind, Pipeline};
use super::{Known, Parsed, Parser, Wrong, beyond, literals, wrong};

impl Parser<'_> {
    /// Parses a pipeline up to and with its end: a right delimiter or a right parenthesis.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipeline> {
        let offset = self.peek_non_space().span.start;
        let mut pipeline = Pipeline { offset, variables: Vec::new(), assigns: false, commands: Vec::new() };
        self.declarations(context, &mut pipeline)?;
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => break,
                Kind::Bool
                | Kind::CharacterConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Keyword(Keyword::Nil)
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParenthesis => {
                    self.put_back(token);
                    let command = self.command()?;
                    pipeline.commands.push(command);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
        check(&pipeline, context)?;
        Ok(pipeline)
    }

    /// Parses `$x :=`, `$x =` or, in a range, `$x, $y :=`.
    fn declarations(&mut self, context: &str, pipeline: &mut Pipeline) -> Parsed<()> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            // A space is a token: it must be put back if the variable is an operand.
            let after = self.next();
            let next = if after.kind == Kind::Space { self.next_non_space() } else { after.clone() };
            let is_comma = next.kind == Kind::Character && self.text(&next) == ",";
            if !is_comma && !matches!(next.kind, Kind::Assign | Kind::Declare) {
                self.put_back(next);
                if after.kind == Kind::Space {
                    self.put_back(after);
                }
                self.put_back(variable);
                return Ok(());
            }
            let name = self.text(&variable).to_owned();
            if self.scope.variables.len() == VARIABLES {
                return Err(beyond(
                    variable.span.start,
                    format!("more than {VARIABLES} variables are declared"),
                ));
            }
            self.scope.variables.push(name.clone());
            pipeline.variables.push(name);
            if !is_comma {
                pipeline.assigns = next.kind == Kind::Assign;
                return Ok(());
            }
            if context != "range" || pipeline.variables.len() > 1 {
                return Err(wrong(next.span.start, format!("too many declarations in {context}")));
            }
            let following = self.peek_non_space();
            if !matches!(following.kind, Kind::Variable | Kind::RightDelimiter | Kind::RightParenthesis) {
                return Err(wrong(following.span.start, "range can only initialize variables"));
            }
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        let offset = self.peek_non_space().span.start;
        let mut operands = Vec::new();
        loop {
            self.peek_non_space();
            operands.extend(self.operand()?);
            let token = self.next();
            match token.kind {
                Kind::Space => {}
                Kind::RightDelimiter | Kind::RightParenthesis => {
                    self.put_back(token);
                    break;
                }
                Kind::Pipe => break,
                _ => return Err(self.unexpected(&token, "operand")),
            }
        }
        let mut operands = operands.into_iter();
        match operands.next() {
            Some(first) => Ok(Command { first, others: operands.collect() }),
            None => Err(wrong(offset, "empty command")),
        }
    }

    /// Parses an operand with the fields that follow it directly.
    fn operand(&mut self) -> Parsed<Option<Operand>> {
        let Some(mut operand) = self.term()? else {
            return Ok(None);
        };
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            let token = self.next();
            fields.push(self.field_name(&token));
            operand.span.end = token.span.end;
        }
        if fields.is_empty() {
            return Ok(Some(operand));
        }
        match &mut operand.kind {
            OperandKind::Field(names) | OperandKind::Variable(_, names) => names.append(&mut fields),
            OperandKind::Function(_) | OperandKind::Parentheses(_) | OperandKind::Chain(..) => {
                let span = operand.span.clone();
                operand = Operand { span, kind: OperandKind::Chain(Box::new(operand), fields) };
            }
            _ => return Err(wrong(operand.span.start, "unexpected . after a value that has no fields")),
        }
        Ok(Some(operand))
    }

    fn field_name(&self, token: &Token) -> String {
        self.text(token).trim_start_matches('.').to_owned()
    }

    fn term(&mut self) -> Parsed<Option<Operand>> {
        let token = self.next_non_space();
        let mut span = token.span.clone();
        let text = self.text(&token).to_owned();
        let kind = match token.kind {
            Kind::Identifier if self.known == Known::AnyName => {
                OperandKind::Function(functions::find(&text).unwrap_or(&functions::FOREIGN))
            }
            Kind::Identifier => OperandKind::Function(
                functions::find(&text).ok_or_else(|| unknown_function(&text, span.start))?,
            ),
            Kind::Dot => OperandKind::Dot,
            Kind::Keyword(Keyword::Nil) => OperandKind::Nil,
            Kind::Variable if self.scope.variables.contains(&text) => OperandKind::Variable(text, Vec::new()),
            Kind::Variable => return Err(wrong(span.start, format!("undefined variable {text:?}"))),
            Kind::Field => OperandKind::Field(vec![self.field_name(&token)]),
            Kind::Bool => OperandKind::Bool(text == "true"),
            Kind::Complex => return Err(beyond(span.start, "complex numbers are not supported")),
            Kind::CharacterConstant => literals::character(&text)
                .map(OperandKind::Number)
                .ok_or_else(|| wrong(span.start, format!("malformed character constant: {text}")))?,
            Kind::Number => literals::number(&text)
                .map(OperandKind::Number)
                .map_err(|message| beyond(span.start, message))?,
            Kind::String | Kind::RawString => literals::unquote(&text)
                .map(OperandKind::Text)
                .ok_or_else(|| wrong(span.start, "invalid syntax in a string"))?,
            Kind::LeftParenthesis => {
                let inside = self.deeper(span.start, |parser| {
                    parser.pipeline("parenthesized pipeline", Kind::RightParenthesis)
                })?;
                span.end = self.lexer.position();
                OperandKind::Parentheses(Box::new(inside))
            }
            _ => {
                self.put_back(token);
                return Ok(None);
            }
        };
        Ok(Some(Operand { span, kind }))
    }
}

/// Checks that only the first command of a pipeline is a plain value: the others receive one.
fn check(pipeline: &Pipeline, context: &str) -> Parsed<()> {
    if pipeline.commands.is_empty() {
        return Err(wrong(pipeline.offset, format!("missing value for {context}")));
    }
    for (index, command) in pipeline.commands.iter().enumerate().skip(1) {
        let is_value = matches!(
            command.first.kind,
            OperandKind::Bool(_)
                | OperandKind::Dot
                | OperandKind::Nil
                | OperandKind::Number(_)
                | OperandKind::Text(_)
        );
        if is_value {
            let message = format!("non executable command in pipeline stage {}", index + 1);
            return Err(wrong(command.first.span.start, message));
        }
    }
    Ok(())
}

fn unknown_function(name: &str, offset: usize) -> Wrong {
    let message = match functions::why_refused(name) {
        Some(reason) => format!("function {name:?} is not available: {reason}"),
        None => format!("function {name:?} not defined"),
    };
    Wrong { suggestion: functions::similar(name).map(str::to_owned), ..wrong(offset, message) }
}

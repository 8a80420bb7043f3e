//! From tokens to the syntax tree, by the rules of Go's `text/template/parse/parse.go`.

mod literals;
mod pipeline;

pub(super) use literals::float as parse_float;

use super::lex::{Keyword, Kind, Lexer, Token};
use super::limits::{NESTING, SOURCE_BYTES};
use super::syntax::{Branches, Call, Node, Pipeline, RangeNode, Templates};

/// An error in a source, and its byte offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub offset: usize,
    pub message: String,
    /// The function that was probably meant.
    pub suggestion: Option<String>,
    /// Whether Go accepts the source: it exceeds a limit of ours.
    pub is_ours: bool,
}

type Parsed<T> = Result<T, Wrong>;

/// Parses all templates of a source. The one outside any `define` is named `name`.
pub(super) fn parse(name: &str, source: &str) -> Parsed<Templates> {
    if source.len() > SOURCE_BYTES {
        return Err(beyond(0, format!("the template is longer than {SOURCE_BYTES} bytes")));
    }
    parse_with(Known::Functions, name, source)
}

/// Checks the syntax of a source of any length, with any functions. A source beyond the other limits passes: Go may
/// accept it.
pub(super) fn check(name: &str, source: &str) -> Parsed<()> {
    match parse_with(Known::AnyName, name, source) {
        Err(wrong) if !wrong.is_ours => Err(wrong),
        _ => Ok(()),
    }
}

/// The functions that a source may call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Those of the table.
    Functions,
    /// Those of another program.
    AnyName,
}

fn parse_with(known: Known, name: &str, source: &str) -> Parsed<Templates> {
    let mut parser = Parser {
        source,
        known,
        lexer: Lexer::new(source),
        pending: Vec::new(),
        templates: Templates::new(),
        depth: 0,
        scope: Scope::default(),
    };
    let root = parser.top_level()?;
    parser.add(name.to_owned(), root, source.len())?;
    Ok(parser.templates)
}

fn wrong(offset: usize, message: impl Into<String>) -> Wrong {
    Wrong { offset, message: message.into(), suggestion: None, is_ours: false }
}

/// An error that Go does not have.
fn beyond(offset: usize, message: impl Into<String>) -> Wrong {
    Wrong { is_ours: true, ..wrong(offset, message) }
}

/// The scope of one template: a `define` or `block` opens a new one.
struct Scope {
    variables: Vec<String>,
    ranges: usize,
}

impl Default for Scope {
    fn default() -> Self {
        Scope { variables: vec!["$".to_owned()], ranges: 0 }
    }
}

struct Parser<'s> {
    source: &'s str,
    known: Known,
    lexer: Lexer<'s>,
    /// Tokens that were put back, the next one last.
    pending: Vec<Token>,
    templates: Templates,
    /// Number of open blocks and parentheses.
    depth: usize,
    scope: Scope,
}

/// An item of a list, or the end of the list.
enum Item {
    Node(Node),
    Else,
    End,
}

/// The action that ended a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Else,
    End,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Ending::Else => "{{else}}",
            Ending::End => "{{end}}",
        }
    }
}

impl Parser<'_> {
    fn next(&mut self) -> Token {
        self.pending.pop().unwrap_or_else(|| self.lexer.next_token())
    }

    fn put_back(&mut self, token: Token) {
        self.pending.push(token);
    }

    fn peek(&mut self) -> Token {
        let token = self.next();
        self.put_back(token.clone());
        token
    }

    fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.put_back(token.clone());
        token
    }

    fn text(&self, token: &Token) -> &str {
        self.source.get(token.span.clone()).unwrap_or_default()
    }

    fn unexpected(&self, token: &Token, context: &str) -> Wrong {
        let message = match token.kind {
            Kind::Error => token.message.to_owned(),
            Kind::End => format!("unexpected EOF in {context}"),
            Kind::Keyword(_) => format!("unexpected <{}> in {context}", self.text(token)),
            _ => format!("unexpected {:?} in {context}", self.text(token)),
        };
        wrong(token.span.start, message)
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    /// Runs `inside` one block or parenthesis deeper.
    fn deeper<T>(&mut self, offset: usize, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == NESTING {
            return Err(beyond(
                offset,
                format!("blocks and parentheses are nested more than {NESTING} deep"),
            ));
        }
        self.depth += 1;
        let parsed = inside(self);
        self.depth -= 1;
        parsed
    }

    /// Keeps a template. One that is only white space never replaces another one.
    fn add(&mut self, name: String, nodes: Vec<Node>, offset: usize) -> Parsed<()> {
        match self.templates.get(&name) {
            Some(existing) if !self.is_empty(existing) => {
                if !self.is_empty(&nodes) {
                    return Err(wrong(offset, format!("multiple definition of template {name:?}")));
                }
            }
            _ => {
                self.templates.insert(name, nodes);
            }
        }
        Ok(())
    }

    fn is_empty(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|node| match node {
            Node::Text(span) => self.source.get(span.clone()).is_none_or(|text| text.trim().is_empty()),
            _ => false,
        })
    }

    fn top_level(&mut self) -> Parsed<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            let token = self.peek();
            if token.kind == Kind::End {
                return Ok(nodes);
            }
            if token.kind == Kind::LeftDelimiter {
                let delimiter = self.next();
                let first = self.next_non_space();
                if first.kind == Kind::Keyword(Keyword::Define) {
                    self.definition()?;
                    continue;
                }
                self.put_back(first);
                self.put_back(delimiter);
            }
            match self.item()? {
                Item::Node(node) => nodes.push(node),
                Item::Else => return Err(wrong(token.span.start, "unexpected {{else}}")),
                Item::End => return Err(wrong(token.span.start, "unexpected {{end}}")),
            }
        }
    }

    fn definition(&mut self) -> Parsed<()> {
        let token = self.next_non_space();
        let name = self.template_name(&token, "define clause")?;
        self.expect(Kind::RightDelimiter, "define clause")?;
        self.body(name, &token, "define clause")
    }

    /// Parses the body of a `define` or `block` up to its `end`, in a scope of its own.
    fn body(&mut self, name: String, token: &Token, context: &str) -> Parsed<()> {
        let outer = std::mem::take(&mut self.scope);
        let (nodes, ending) = self.deeper(token.span.start, Self::list)?;
        self.scope = outer;
        if ending == Ending::Else {
            return Err(wrong(token.span.start, format!("unexpected {} in {context}", ending.name())));
        }
        self.add(name, nodes, token.span.start)
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Parsed<String> {
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return Err(self.unexpected(token, context));
        }
        literals::unquote(self.text(token))
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| wrong(token.span.start, "invalid syntax in a string"))
    }

    fn list(&mut self) -> Parsed<(Vec<Node>, Ending)> {
        let mut nodes = Vec::new();
        loop {
            let token = self.peek_non_space();
            if token.kind == Kind::End {
                return Err(wrong(token.span.start, "unexpected EOF: an {{end}} is missing"));
            }
            match self.item()? {
                Item::Node(node) => nodes.push(node),
                Item::Else => return Ok((nodes, Ending::Else)),
                Item::End => return Ok((nodes, Ending::End)),
            }
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text(token.span))),
            Kind::LeftDelimiter => self.action(),
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Parsed<Item> {
        let token = self.next_non_space();
        let offset = token.span.start;
        let node = match token.kind {
            Kind::Keyword(Keyword::End) => {
                self.expect(Kind::RightDelimiter, "end")?;
                return Ok(Item::End);
            }
            Kind::Keyword(Keyword::Else) => {
                let next = self.peek_non_space();
                if !matches!(next.kind, Kind::Keyword(Keyword::If | Keyword::With)) {
                    self.expect(Kind::RightDelimiter, "else")?;
                }
                return Ok(Item::Else);
            }
            Kind::Keyword(Keyword::If) => Node::Branches(self.branches(offset, Keyword::If)?),
            Kind::Keyword(Keyword::With) => Node::Branches(self.branches(offset, Keyword::With)?),
            Kind::Keyword(Keyword::Range) => Node::Range(self.range(offset)?),
            Kind::Keyword(Keyword::Break) => self.leaves_range(offset, "{{break}}", Node::Break)?,
            Kind::Keyword(Keyword::Continue) => self.leaves_range(offset, "{{continue}}", Node::Continue)?,
            Kind::Keyword(Keyword::Template) => Node::Call(self.call(offset)?),
            Kind::Keyword(Keyword::Block) => Node::Call(self.block()?),
            _ => {
                self.put_back(token);
                // Variables that are declared here stay until the enclosing end.
                Node::Action(self.pipeline("command", Kind::RightDelimiter)?)
            }
        };
        Ok(Item::Node(node))
    }

    fn leaves_range(&mut self, offset: usize, name: &str, node: Node) -> Parsed<Node> {
        self.expect(Kind::RightDelimiter, name)?;
        if self.scope.ranges == 0 {
            return Err(wrong(offset, format!("{name} outside {{{{range}}}}")));
        }
        Ok(node)
    }

    /// Parses `if` and `with`, with all their `else if` or `else with`.
    fn branches(&mut self, offset: usize, keyword: Keyword) -> Parsed<Branches> {
        let context = if keyword == Keyword::If { "if" } else { "with" };
        let known = self.scope.variables.len();
        let mut conditions = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.pipeline(context, Kind::RightDelimiter)?;
            let (body, ending) = self.deeper(offset, Self::list)?;
            conditions.push((condition, body));
            if ending == Ending::End {
                break;
            }
            if self.peek().kind == Kind::Keyword(keyword) {
                self.next();
                continue;
            }
            otherwise = self.otherwise(offset)?;
            break;
        }
        self.scope.variables.truncate(known);
        Ok(Branches { moves_dot: keyword == Keyword::With, conditions, otherwise })
    }

    fn otherwise(&mut self, offset: usize) -> Parsed<Vec<Node>> {
        let (nodes, ending) = self.deeper(offset, Self::list)?;
        match ending {
            Ending::End => Ok(nodes),
            Ending::Else => Err(wrong(offset, format!("expected end; found {}", ending.name()))),
        }
    }

    fn range(&mut self, offset: usize) -> Parsed<RangeNode> {
        let known = self.scope.variables.len();
        let pipeline = self.pipeline("range", Kind::RightDelimiter)?;
        self.scope.ranges += 1;
        let (body, ending) = self.deeper(offset, Self::list)?;
        self.scope.ranges -= 1;
        let otherwise = if ending == Ending::Else { self.otherwise(offset)? } else { Vec::new() };
        self.scope.variables.truncate(known);
        Ok(RangeNode { pipeline, body, otherwise })
    }

    fn call(&mut self, offset: usize) -> Parsed<Call> {
        let token = self.next_non_space();
        let name = self.template_name(&token, "template clause")?;
        let next = self.next_non_space();
        let pipeline: Option<Pipeline> = if next.kind == Kind::RightDelimiter {
            None
        } else {
            self.put_back(next);
            Some(self.pipeline("template clause", Kind::RightDelimiter)?)
        };
        Ok(Call { offset, name, pipeline })
    }

    fn block(&mut self) -> Parsed<Call> {
        let token = self.next_non_space();
        let name = self.template_name(&token, "block clause")?;
        let pipeline = self.pipeline("block clause", Kind::RightDelimiter)?;
        self.body(name.clone(), &token, "block clause")?;
        Ok(Call { offset: token.span.start, name, pipeline: Some(pipeline) })
    }
}

#[cfg(test)]
mod tests;

//! The syntax tree of a template.

use std::collections::BTreeMap;
use std::ops::Range;

use super::functions::Function;

/// The bytes of the source that a part of the tree stands for.
pub(super) type Span = Range<usize>;

/// All templates of one source, by name. The one that is rendered has the name of the source.
pub(super) type Templates = BTreeMap<String, Vec<Node>>;

/// One step of rendering a template.
#[derive(Debug)]
pub(super) enum Node {
    /// Text of the source, after trimming.
    Text(Span),
    /// `{{ pipeline }}`
    Action(Pipeline),
    /// `if` and `with`
    Branches(Branches),
    /// `range`
    Range(RangeNode),
    /// `template` and the call that a `block` is
    Call(Call),
    /// `break`
    Break,
    /// `continue`
    Continue,
}

/// `if … else if … else … end`, or the same with `with`.
#[derive(Debug)]
pub(super) struct Branches {
    /// Whether the dot is moved to the value (`with`).
    pub moves_dot: bool,
    /// The conditions in their order, each with the branch for when it is the first that holds.
    pub conditions: Vec<(Pipeline, Vec<Node>)>,
    /// The branch if none holds.
    pub otherwise: Vec<Node>,
}

/// `range … else … end`.
#[derive(Debug)]
pub(super) struct RangeNode {
    pub pipeline: Pipeline,
    pub body: Vec<Node>,
    /// The branch if there is nothing to iterate over.
    pub otherwise: Vec<Node>,
}

/// `template "name" pipeline`.
#[derive(Debug)]
pub(super) struct Call {
    pub offset: usize,
    pub name: String,
    pub pipeline: Option<Pipeline>,
}

/// `$a, $b := command | command`.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub offset: usize,
    /// Names of the variables that are set, with their `$`.
    pub variables: Vec<String>,
    /// Whether existing variables are set (`=`) rather than new ones declared (`:=`).
    pub assigns: bool,
    pub commands: Vec<Command>,
}

/// `function operand operand`. There is always a first operand.
#[derive(Debug)]
pub(super) struct Command {
    pub first: Operand,
    pub others: Vec<Operand>,
}

/// One word of a command.
#[derive(Debug)]
pub(super) struct Operand {
    pub span: Span,
    pub kind: OperandKind,
}

/// The kinds of operands.
#[derive(Debug)]
pub(super) enum OperandKind {
    Function(&'static Function),
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text(Vec<u8>),
    /// `.a.b`
    Field(Vec<String>),
    /// `$x.a.b`
    Variable(String, Vec<String>),
    /// `(pipeline)`
    Parentheses(Box<Pipeline>),
    /// `(pipeline).a.b`
    Chain(Box<Operand>, Vec<String>),
}

/// A number literal. Like Go's constants it has no type of its own: it takes the type that its place requires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub integer: Option<i64>,
    pub float: f64,
    /// Whether it is a `float64` if its place requires no type.
    pub prefers_float: bool,
}

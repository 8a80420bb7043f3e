package main

import (
	"reflect"
	"text/template"
	"text/template/parse"
)

// missing says whether the answer depended on a value that was not there (see README.md for the rule).
type missing string

const (
	nothingMissing missing = ""
	mayBeMissing   missing = "may"
	mustBeMissing  missing = "must"
)

// testers never need their argument: they ask whether there is one.
var testers = set("and", "or", "not", "default", "empty", "coalesce", "all", "any", "ternary", "hasKey",
	"kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike")

// carriers pass an argument on or compare it; they may need it.
var carriers = set("list", "tuple", "dict", "set", "append", "push", "prepend", "mustAppend", "mustPush", "mustPrepend",
	"concat", "pluck", "pick", "omit", "without", "mustWithout", "has", "mustHas", "uniq", "mustUniq", "compact",
	"mustCompact", "toJson", "mustToJson", "toPrettyJson", "mustToPrettyJson", "toRawJson", "mustToRawJson",
	"eq", "ne", "deepEqual", "dig", "get", "unset", "call")

func set(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

const (
	directName   = "oracle_direct"
	indirectName = "oracle_indirect"
)

// watch records values that were nil where they were printed or passed on.
type watch struct{ seen missing }

// functions are what the rewritten trees call: both give back their argument.
func (w *watch) functions() template.FuncMap {
	return template.FuncMap{
		directName:   func(value reflect.Value) reflect.Value { return w.look(value, mustBeMissing) },
		indirectName: func(value reflect.Value) reflect.Value { return w.look(value, mayBeMissing) },
	}
}

func (w *watch) look(value reflect.Value, found missing) reflect.Value {
	isNil := !value.IsValid() || value.Kind() == reflect.Interface && value.IsNil()
	// The stronger one stays: an engine that does not hold where it may, holds where it must.
	if isNil && w.seen != mustBeMissing {
		w.seen = found
	}
	return value
}

// rewrite puts a look at every printed value and at every argument of every function that needs it.
func rewrite(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			rewritePipe(node.Pipe)
			if len(node.Pipe.Decl) == 0 {
				node.Pipe.Cmds = append(node.Pipe.Cmds, command0(lookName(node.Pipe.Cmds)))
			}
		case *parse.IfNode:
			rewriteBranch(&node.BranchNode)
		case *parse.WithNode:
			rewriteBranch(&node.BranchNode)
		case *parse.RangeNode:
			rewriteBranch(&node.BranchNode)
		case *parse.TemplateNode:
			rewritePipe(node.Pipe)
		}
	}
}

func rewriteBranch(branch *parse.BranchNode) {
	rewritePipe(branch.Pipe)
	rewrite(branch.List)
	rewrite(branch.ElseList)
}

// lookName: direct when the value is that of a field path and nothing else.
func lookName(commands []*parse.CommandNode) string {
	if len(commands) == 1 && len(commands[0].Args) == 1 && isFieldPath(commands[0].Args[0]) {
		return directName
	}
	return indirectName
}

func isFieldPath(node parse.Node) bool {
	switch node := node.(type) {
	case *parse.FieldNode:
		return true
	case *parse.VariableNode:
		return len(node.Ident) > 1
	case *parse.PipeNode:
		return len(node.Decl) == 0 && lookName(node.Cmds) == directName
	}
	return false
}

func rewritePipe(pipeline *parse.PipeNode) {
	if pipeline == nil {
		return
	}
	var commands []*parse.CommandNode
	for i, command := range pipeline.Cmds {
		name := functionName(command)
		if i > 0 && name != "" && !testers[name] {
			commands = append(commands, command0(needs(name, lookName(pipeline.Cmds[:i]))))
		}
		rewriteArguments(command, name)
		commands = append(commands, command)
	}
	pipeline.Cmds = commands
}

// rewriteArguments wraps what a function gets; nested pipelines are rewritten everywhere.
func rewriteArguments(command *parse.CommandNode, name string) {
	for i, argument := range command.Args {
		look := indirectName
		if isFieldPath(argument) {
			look = directName
		}
		descend(argument)
		if i == 0 || name == "" || testers[name] {
			continue
		}
		switch argument.(type) {
		case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode, *parse.PipeNode, *parse.DotNode, *parse.NilNode:
			command.Args[i] = looked(argument, needs(name, look))
		}
	}
}

func descend(node parse.Node) {
	switch node := node.(type) {
	case *parse.PipeNode:
		rewritePipe(node)
	case *parse.ChainNode:
		descend(node.Node)
	}
}

// looked is (look argument).
func looked(argument parse.Node, look string) parse.Node {
	call := command0(look)
	call.Args = append(call.Args, argument)
	return pipe(call)
}

// needs weakens a direct look for functions that only carry or compare.
func needs(function, look string) string {
	if carriers[function] {
		return indirectName
	}
	return look
}

func functionName(command *parse.CommandNode) string {
	if identifier, is := command.Args[0].(*parse.IdentifierNode); is {
		return identifier.Ident
	}
	return ""
}

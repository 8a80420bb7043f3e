package main

import (
	"reflect"
	"text/template"
	"text/template/parse"
)

// missing says whether the answer depended on a missing value (see README.md for the rule).
type missing string

const (
	nothingMissing missing = ""
	mayBeMissing   missing = "may"
	mustBeMissing  missing = "must"
)

// testers never need their argument: they test whether there is one.
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

// watch records values that were nil when they were printed or passed on.
type watch struct {
	seen missing
	// data has the addresses of all maps of the data.
	data map[uintptr]bool
}

// functions are those that the rewritten trees call: both return their last argument. The first argument of a direct
// look is the start of the path: it must be data, because a value that a template made does not get another field by
// waiting.
func (w *watch) functions() template.FuncMap {
	return template.FuncMap{
		directName: func(start, value reflect.Value) reflect.Value {
			if w.isData(start) {
				return w.look(value, mustBeMissing)
			}
			return w.look(value, mayBeMissing)
		},
		indirectName: func(value reflect.Value) reflect.Value { return w.look(value, mayBeMissing) },
	}
}

func (w *watch) isData(value reflect.Value) bool {
	if value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	return value.Kind() == reflect.Map && w.data[value.Pointer()]
}

// remember notes the maps of the data.
func (w *watch) remember(value any) {
	switch value := value.(type) {
	case map[string]any:
		w.data[reflect.ValueOf(value).Pointer()] = true
		for _, member := range value {
			w.remember(member)
		}
	case []any:
		for _, element := range value {
			w.remember(element)
		}
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
				node.Pipe.Cmds = append(node.Pipe.Cmds, lookCommand(pathStart(node.Pipe.Cmds)))
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

// lookCommand is the command that looks: directly if the value is that of a path, which starts at a node.
func lookCommand(start parse.Node) *parse.CommandNode {
	if start == nil {
		return command0(indirectName)
	}
	command := command0(directName)
	command.Args = append(command.Args, start)
	return command
}

// pathStart is the start of a path if commands are a path of fields and nothing else.
func pathStart(commands []*parse.CommandNode) parse.Node {
	if len(commands) == 1 && len(commands[0].Args) == 1 {
		return startOf(commands[0].Args[0])
	}
	return nil
}

func startOf(node parse.Node) parse.Node {
	switch node := node.(type) {
	case *parse.FieldNode:
		return &parse.DotNode{NodeType: parse.NodeDot}
	case *parse.VariableNode:
		if len(node.Ident) > 1 {
			return &parse.VariableNode{NodeType: parse.NodeVariable, Ident: node.Ident[:1]}
		}
	case *parse.PipeNode:
		if len(node.Decl) == 0 {
			return pathStart(node.Cmds)
		}
	}
	return nil
}

func rewritePipe(pipeline *parse.PipeNode) {
	if pipeline == nil {
		return
	}
	var commands []*parse.CommandNode
	for i, command := range pipeline.Cmds {
		name := functionName(command)
		if i > 0 && name != "" && !testers[name] {
			commands = append(commands, lookCommand(needs(name, pathStart(pipeline.Cmds[:i]))))
		}
		rewriteArguments(command, name)
		commands = append(commands, command)
	}
	pipeline.Cmds = commands
}

// rewriteArguments wraps the arguments of a function; nested pipelines are rewritten everywhere.
func rewriteArguments(command *parse.CommandNode, name string) {
	for i, argument := range command.Args {
		start := startOf(argument)
		descend(argument)
		if i == 0 || name == "" || testers[name] {
			continue
		}
		switch argument.(type) {
		case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode, *parse.PipeNode, *parse.DotNode, *parse.NilNode:
			command.Args[i] = looked(argument, needs(name, start))
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
func looked(argument, start parse.Node) parse.Node {
	call := lookCommand(start)
	call.Args = append(call.Args, argument)
	return pipe(call)
}

// needs drops the path for functions that only carry or compare.
func needs(function string, start parse.Node) parse.Node {
	if carriers[function] {
		return nil
	}
	return start
}

func functionName(command *parse.CommandNode) string {
	if identifier, is := command.Args[0].(*parse.IdentifierNode); is {
		return identifier.Ident
	}
	return ""
}

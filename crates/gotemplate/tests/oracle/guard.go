package main

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
	"text/template/parse"
	"time"
)

// The bounds within which a case is evaluated. Depth, steps and output are those of stackflux's engine; the others keep
// this program alive.
const (
	maximumOutput    = 1 << 20
	maximumSteps     = 1_000_000
	randomSteps      = 1_000
	maximumCallDepth = 100
	maximumValue     = 1 << 20
	maximumNesting   = 500
	maximumTime      = 20 * time.Second
	maximumMemory    = 4 << 30
)

// limitError says that a case was stopped by one of the bounds above and Go's own answer is not known.
type limitError struct{ what string }

func (e limitError) Error() string { return "oracle limit: " + e.what }

// guard counts what one evaluation uses.
type guard struct {
	steps    int
	allowed  int
	depth    int
	written  int
	deadline time.Time
	output   strings.Builder
}

func newGuard(steps int) *guard {
	return &guard{allowed: steps, deadline: time.Now().Add(maximumTime)}
}

// Write is the output of the template.
func (g *guard) Write(bytes []byte) (int, error) {
	if g.written += len(bytes); g.written > maximumOutput {
		return 0, limitError{"output"}
	}
	return g.output.Write(bytes)
}

const (
	stepName  = "oracle_step"
	enterName = "oracle_enter"
	leaveName = "oracle_leave"
)

// functions are those that the instrumented trees call; each prints nothing.
func (g *guard) functions() map[string]any {
	return map[string]any{
		stepName:  func() (string, error) { return "", g.step() },
		enterName: func() (string, error) { g.depth++; return "", g.step() },
		leaveName: func() string { g.depth--; return "" },
	}
}

func (g *guard) step() error {
	switch g.steps++; {
	case g.steps > g.allowed:
		return limitError{"steps"}
	case g.depth > maximumCallDepth:
		return limitError{"call depth"}
	case g.steps%1024 == 0 && time.Now().After(g.deadline):
		return limitError{"time"}
	}
	return nil
}

// instrument makes every called template and every turn of a range report to the guard. Without it Go's engine cannot be
// interrupted.
func instrument(root *parse.ListNode) {
	instrumentList(root)
	root.Nodes = append(append([]parse.Node{callNode(enterName)}, root.Nodes...), callNode(leaveName))
}

func instrumentList(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.IfNode:
			instrumentList(node.List)
			instrumentList(node.ElseList)
		case *parse.WithNode:
			instrumentList(node.List)
			instrumentList(node.ElseList)
		case *parse.RangeNode:
			instrumentList(node.List)
			instrumentList(node.ElseList)
			node.List.Nodes = append([]parse.Node{callNode(stepName)}, node.List.Nodes...)
		}
	}
}

// callNode is the action {{ name }}.
func callNode(name string) parse.Node {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: pipe(command0(name))}
}

func command0(name string) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(name)}}
}

func pipe(commands ...*parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Cmds: commands}
}

// guarded wraps a function: arguments and result stay within the bounds.
func guarded(name string, function any) any {
	value := reflect.ValueOf(function)
	kind := value.Type()
	return reflect.MakeFunc(kind, func(arguments []reflect.Value) []reflect.Value {
		if check, found := argumentChecks[name]; found {
			if problem := check(spread(kind, arguments)); problem != "" {
				panic(limitError{problem})
			}
		}
		var results []reflect.Value
		if kind.IsVariadic() {
			results = value.CallSlice(arguments)
		} else {
			results = value.Call(arguments)
		}
		for _, result := range results {
			if size(result, 0) > maximumValue {
				panic(limitError{"value of " + name})
			}
		}
		return results
	}).Interface()
}

// spread gives the arguments as the template passed them.
func spread(kind reflect.Type, arguments []reflect.Value) []any {
	var all []any
	for i, argument := range arguments {
		if kind.IsVariadic() && i == len(arguments)-1 {
			for j := range argument.Len() {
				all = append(all, argument.Index(j).Interface())
			}
			continue
		}
		all = append(all, argument.Interface())
	}
	return all
}

// size counts the scalars and bytes that printing a value visits; it stops counting above maximumValue.
func size(value reflect.Value, depth int) int {
	if depth > maximumNesting {
		return maximumValue + 1
	}
	total := 1
	switch value.Kind() {
	case reflect.String:
		return 1 + value.Len()
	case reflect.Interface:
		if !value.IsNil() {
			return size(value.Elem(), depth)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < value.Len() && total <= maximumValue; i++ {
			total += size(value.Index(i), depth+1)
		}
	case reflect.Map:
		for pairs := value.MapRange(); total <= maximumValue && pairs.Next(); {
			total += size(pairs.Key(), depth+1) + size(pairs.Value(), depth+1)
		}
	}
	return total
}

// argumentChecks refuse calls whose result could not even be computed; each returns what is too big, or nothing.
var argumentChecks = map[string]func([]any) string{
	"repeat": func(a []any) string {
		return product(a[0].(int), len(a[1].(string)), "repeat")
	},
	"indent":  func(a []any) string { return product(a[0].(int), lines(a[1]), "indent") },
	"nindent": func(a []any) string { return product(a[0].(int), lines(a[1]), "nindent") },
	"replace": func(a []any) string {
		return product(len(a[1].(string)), strings.Count(a[2].(string), a[0].(string)), "replace")
	},
	"regexMatch":                 regexSize,
	"mustRegexMatch":             regexSize,
	"regexFind":                  regexSize,
	"mustRegexFind":              regexSize,
	"regexFindAll":               regexSize,
	"mustRegexFindAll":           regexSize,
	"regexSplit":                 regexSize,
	"mustRegexSplit":             regexSize,
	"regexReplaceAll":            regexGrowth,
	"mustRegexReplaceAll":        regexGrowth,
	"regexReplaceAllLiteral":     regexGrowth,
	"mustRegexReplaceAllLiteral": regexGrowth,
	"join": func(a []any) string {
		return product(len(a[0].(string)), size(reflect.ValueOf(a[1]), 0), "join")
	},
	"until":     func(a []any) string { return sequence(0, a[0].(int), toward(0, a[0].(int))) },
	"untilStep": func(a []any) string { return sequence(a[0].(int), a[1].(int), a[2].(int)) },
	"seq": func(a []any) string {
		switch len(a) {
		case 1:
			return sequence(1, a[0].(int), toward(1, a[0].(int)))
		case 2:
			return sequence(a[0].(int), a[1].(int), toward(a[0].(int), a[1].(int)))
		case 3:
			return sequence(a[0].(int), a[2].(int), a[1].(int))
		}
		return ""
	},
	"set": func(a []any) string {
		if target := reflect.ValueOf(a[0]); !target.IsNil() && contains(reflect.ValueOf(a[2]), target.Pointer(), 0) {
			return "cycle"
		}
		return ""
	},
	"chunk":     chunkCheck,
	"mustChunk": chunkCheck,
	"printf": func(a []any) string {
		if verb, _ := a[0].(string); addressVerb.MatchString(verb) {
			return "address"
		}
		return ""
	},
}

func lines(text any) int { return 1 + strings.Count(text.(string), "\n") }

func regexGrowth(a []any) string {
	if tooLarge := regexSize(a); tooLarge != "" {
		return tooLarge
	}
	return product(len(a[1].(string))+1, len(a[2].(string))+1, "regex")
}

var repeatCount = regexp.MustCompile(`\{[0-9]{4,}|,[0-9]{4,}\}`)

// regexSize refuses expressions that Go finds too large: the engine has limits of its own. Single counts above 1000 are
// not checked here.
func regexSize(a []any) string {
	pattern := a[0].(string)
	var problem *syntax.Error
	if _, err := syntax.Parse(pattern, syntax.Perl); errors.As(err, &problem) {
		nested := problem.Code == syntax.ErrInvalidRepeatSize && !repeatCount.MatchString(pattern)
		if nested || problem.Code == syntax.ErrLarge {
			return "regex"
		}
	}
	return ""
}

func chunkCheck(a []any) string {
	if count := a[0].(int); count > maximumValue {
		return "chunk"
	}
	return ""
}

func product(a, b int, what string) string {
	if a > 0 && b > 0 && a > maximumValue/b {
		return what
	}
	return ""
}

// toward is the step from one number to another.
func toward(start, stop int) int {
	if stop < start {
		return -1
	}
	return 1
}

// sequence refuses more numbers than maximumValue, and ends that overflow and change the direction.
func sequence(start, stop, step int) string {
	if step == 0 {
		return ""
	}
	count := math.Abs((float64(stop) - float64(start)) / float64(step))
	if reach := math.Abs(float64(stop)) + math.Abs(float64(step)); count > maximumValue || reach > 1<<62 {
		return "sequence"
	}
	return ""
}

// contains finds the map at an address below value.
func contains(value reflect.Value, address uintptr, depth int) bool {
	if depth > maximumNesting {
		return true
	}
	switch value.Kind() {
	case reflect.Interface:
		return !value.IsNil() && contains(value.Elem(), address, depth)
	case reflect.Slice:
		for i := range value.Len() {
			if contains(value.Index(i), address, depth+1) {
				return true
			}
		}
	case reflect.Map:
		if value.Pointer() == address {
			return true
		}
		for pairs := value.MapRange(); pairs.Next(); {
			if contains(pairs.Value(), address, depth+1) {
				return true
			}
		}
	}
	return false
}

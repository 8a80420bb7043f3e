package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// grower makes up one template from the grammar.
type grower struct {
	random    *rand.Rand
	paths     []string
	variables []string
	defined   []string
	inRange   int
	// size is the number of nodes that may still be added.
	size int
}

func (g *grower) one(in int) bool { return g.random.IntN(in) == 0 }

// template is a whole source: definitions first, last or between.
func (g *grower) template() string {
	var parts []string
	for range g.random.IntN(3) {
		if g.one(2) {
			parts = append(parts, g.define())
		}
	}
	parts = append(parts, g.list(0))
	if g.one(6) {
		parts = append(parts, g.define())
	}
	return strings.Join(parts, "")
}

func (g *grower) define() string {
	name := pick(g.random, []string{"t", "u", "v", "w", "a b", "é"})
	outer, inRange := g.variables, g.inRange
	g.variables, g.inRange = nil, 0
	body := g.list(2)
	g.variables, g.inRange = outer, inRange
	g.defined = append(g.defined, name)
	if g.one(5) {
		return g.action(fmt.Sprintf("block %q %s", name, g.operand(1))) + body + g.action("end")
	}
	return g.action(fmt.Sprintf("define %q", name)) + body + g.action("end")
}

// list is text and actions.
func (g *grower) list(depth int) string {
	var text strings.Builder
	scope := len(g.variables)
	for range 1 + g.random.IntN(4) {
		if g.size--; g.size < 0 {
			break
		}
		text.WriteString(g.node(depth))
	}
	if len(g.variables) > scope && g.one(2) {
		text.WriteString(g.action(pick(g.random, g.variables)))
	}
	g.variables = g.variables[:scope]
	return text.String()
}

func (g *grower) node(depth int) string {
	choice := g.random.IntN(20)
	if depth > 3 {
		choice = g.random.IntN(15)
	}
	switch {
	case choice < 3:
		return pick(g.random, []string{"\n", " ", "  a: ", "text", "\n\n- ", "é", "} ", "{ ", "\t\r\n ", "values: |\n  "})
	case choice < 12:
		return g.action(g.pipeline(0))
	case choice < 14:
		return g.assignment()
	case choice == 14:
		return g.special()
	case choice == 15:
		return g.branch("if", depth)
	case choice == 16:
		return g.branch("with", depth)
	case choice == 17 && len(g.defined) > 0:
		return g.action(fmt.Sprintf("template %q %s", pick(g.random, g.defined), g.operand(1)))
	}
	return g.rangeOver(depth)
}

// special is a rare construct.
func (g *grower) special() string {
	switch g.random.IntN(5) {
	case 0:
		return pick(g.random, []string{"{{/* comment */}}", " {{- /* {{ */ -}} ", "{{/**/}}"})
	case 1:
		if g.inRange > 0 {
			return g.action(pick(g.random, []string{"break", "continue"}))
		}
	case 2:
		if len(g.defined) > 0 {
			return g.action(fmt.Sprintf("template %q", pick(g.random, g.defined)))
		}
	case 3:
		return g.action("fail " + g.operand(2))
	}
	return g.action("$")
}

// action puts delimiters around, sometimes with trim markers.
func (g *grower) action(inner string) string {
	left, right := "{{ ", " }}"
	if g.one(5) {
		left = "{{- "
	}
	if g.one(5) {
		right = " -}}"
	}
	if g.one(12) {
		left = strings.TrimSuffix(left, " ")
		if left == "{{-" {
			left = "{{-\n"
		}
	}
	return left + inner + right
}

func (g *grower) assignment() string {
	value := g.pipeline(0)
	if len(g.variables) > 0 && g.one(2) {
		return g.action(pick(g.random, g.variables) + " = " + value)
	}
	name := g.variable()
	text := g.action(name + " := " + value)
	g.variables = append(g.variables, name)
	return text
}

func (g *grower) variable() string { return pick(g.random, []string{"$x", "$y", "$z", "$é", "$_"}) }

func (g *grower) branch(keyword string, depth int) string {
	scope := len(g.variables)
	head := keyword + " " + g.pipeline(0)
	if g.one(5) {
		name := g.variable()
		head = keyword + " " + name + " := " + g.pipeline(0)
		g.variables = append(g.variables, name)
	}
	text := g.action(head) + g.list(depth+1)
	if g.one(5) {
		text += g.action("else "+keyword+" "+g.pipeline(0)) + g.list(depth+1)
	}
	if g.one(2) {
		text += g.action("else") + g.list(depth+1)
	}
	g.variables = g.variables[:scope]
	return text + g.action("end")
}

func (g *grower) rangeOver(depth int) string {
	scope := len(g.variables)
	over := g.pipeline(0)
	if g.one(2) {
		over = pick(g.random, []string{".l", ".ls", ".m", ".mm", "(until 3)", "(list 1 \"a\" nil)", "3", "(dict \"b\" 1 \"a\" 2)", "\"aé\"", "(splitList \",\" \"a,b\")", "$"})
	}
	head := "range " + over
	switch g.random.IntN(4) {
	case 0:
		name := g.variable()
		head = "range " + name + " := " + over
		g.variables = append(g.variables, name)
	case 1:
		index, value := g.variable(), g.variable()
		head = "range " + index + ", " + value + " := " + over
		g.variables = append(g.variables, index, value)
	}
	g.inRange++
	text := g.action(head) + g.list(depth+1)
	g.inRange--
	if g.one(3) {
		text += g.action("else") + g.list(depth+1)
	}
	g.variables = g.variables[:scope]
	return text + g.action("end")
}

// pipeline is one command or several.
func (g *grower) pipeline(depth int) string {
	text := g.command(depth)
	for g.one(4) {
		text += " | " + g.piped(depth)
	}
	return text
}

// command is an operand or a call.
func (g *grower) command(depth int) string {
	if g.one(2) || depth > 2 {
		operand := g.operand(depth)
		if operand == "nil" && !g.one(10) {
			return "list"
		}
		return operand
	}
	function := pick(g.random, signatures)
	return g.call(function, function.usual, depth)
}

// piped is a call whose last argument comes from the pipe.
func (g *grower) piped(depth int) string {
	function := pick(g.random, signatures)
	if len(function.usual) == 0 {
		return function.name
	}
	return g.call(function, function.usual[:len(function.usual)-1], depth)
}

func (g *grower) call(function signature, usual []string, depth int) string {
	text := function.name
	for _, argument := range usual {
		switch g.random.IntN(8) {
		case 0:
			argument = g.operand(depth + 1)
		case 1, 2:
			argument = g.alike(argument, depth+1)
		}
		text += " " + argument
	}
	if g.one(20) {
		text += " " + g.operand(depth+1)
	}
	return text
}

// alike is an argument of the type of a usual one.
func (g *grower) alike(usual string, depth int) string {
	switch {
	case strings.ContainsAny(usual[:1], "\"`"):
		if g.one(2) {
			return fmt.Sprintf("%q", pick(g.random, texts))
		}
		return "(" + pick(g.random, []string{"print ", "toString ", "printf \"%v\" ", "quote "}) + g.operand(depth) + ")"
	case strings.ContainsAny(usual[:1], "-0123456789"):
		if g.one(2) {
			return pick(g.random, []string{"0", "-1", "2", "5", "12", "-3", "100", "9223372036854775807"})
		}
		return "(" + pick(g.random, []string{"int ", "atoi ", "int64 ", "float64 ", "add 1 "}) + g.operand(depth) + ")"
	case strings.HasPrefix(usual, ".l"):
		if g.one(2) {
			return pick(g.random, []string{".l", ".le", ".ls", "(until 3)", "(splitList \",\" \"b,a\")"})
		}
		return "(list " + g.operand(depth) + " " + g.operand(depth) + ")"
	case strings.HasPrefix(usual, ".m"):
		if g.one(2) {
			return pick(g.random, []string{".m", ".me", ".mm", "$"})
		}
		return "(dict " + g.operand(depth) + " " + g.operand(depth) + ")"
	}
	return g.operand(depth)
}

// operand is one argument.
func (g *grower) operand(depth int) string {
	if g.one(60) {
		// A character cut in two.
		return pick(g.random, []string{`(trunc 1 "é")`, `(trunc -2 "a€")`, `(b64dec "/w==")`, `(substr 1 3 "é€")`})
	}
	switch choice := g.random.IntN(16); {
	case choice < 4 && len(g.paths) > 0:
		path := pick(g.random, g.paths)
		if g.one(8) {
			path += "." + pick(g.random, names)
		}
		if g.one(4) {
			return "$" + path
		}
		return path
	case choice < 6 && len(g.variables) > 0:
		name := pick(g.random, g.variables)
		if g.one(5) {
			name += "." + pick(g.random, names)
		}
		return name
	case choice < 8:
		return pick(g.random, oddArguments)
	case choice < 10:
		return g.literal()
	case choice == 10:
		return "."
	case choice == 11:
		return "." + pick(g.random, names)
	case choice < 15 && depth < 3:
		inner := "(" + g.pipeline(depth+1) + ")"
		if g.one(8) {
			inner += "." + pick(g.random, names)
		}
		return inner
	}
	return pick(g.random, oddArguments)
}

// literal is a constant in one of its possible forms.
func (g *grower) literal() string {
	switch g.random.IntN(7) {
	case 0:
		return fmt.Sprintf("%d", g.random.IntN(200)-50)
	case 1:
		return fmt.Sprintf("%.*f", 1+g.random.IntN(3), g.random.Float64()*100-20)
	case 2:
		return pick(g.random, []string{"0x1F", "0b101", "0o17", "1_000", "'a'", "'é'", "'\\n'", "1e3", "2.5e-3", "0x1p4", "007", "1e20", "-0", "+3", "-1.5", "100000000.0", "1e21", "123456789.0"})
	case 3:
		return pick(g.random, []string{"true", "false", "nil"})
	case 4:
		return "`" + strings.NewReplacer("`", "", "\x00", "").Replace(pick(g.random, texts)) + "`"
	case 5:
		return fmt.Sprintf("%q", g.format())
	}
	return fmt.Sprintf("%q", pick(g.random, texts))
}

// format is a printf format.
func (g *grower) format() string {
	var text strings.Builder
	for range 1 + g.random.IntN(3) {
		text.WriteString(pick(g.random, []string{"", "a", " ", "é", "%%"}))
		text.WriteString("%" + pick(g.random, []string{"", "", "", "-", "+", "#", "0", " ", "[1]", "[2]", "-0", "+#"}))
		text.WriteString(pick(g.random, []string{"", "", "", "5", "12", "3.2", ".1", ".0", "08", "*", ".*"}))
		text.WriteString(pick(g.random, strings.Split("vvvdssqxXobcUeEfFgGtTz%", "")))
	}
	return text.String()
}

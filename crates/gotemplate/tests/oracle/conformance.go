package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// example is one conformance case: a template and its data as JSON.
type example struct {
	template string
	data     string
}

// with pairs every template with every data document.
func with(documents []string, templates ...string) []example {
	var all []example
	for _, text := range templates {
		for _, document := range documents {
			all = append(all, example{text, document})
		}
	}
	return all
}

// odd pairs every template with just the odd data that it names.
func odd(templates ...string) []example {
	var all []example
	for _, text := range templates {
		all = append(all, example{text, oddDocument(text)})
	}
	return all
}

var fieldName = regexp.MustCompile(`\.([a-z]+)`)

func oddDocument(text string) string {
	named := map[string]bool{}
	for _, match := range fieldName.FindAllStringSubmatch(text, -1) {
		if _, found := oddData[match[1]]; found {
			named[match[1]] = true
		}
	}
	var members []string
	for name := range named {
		members = append(members, fmt.Sprintf("%q:%s", name, oddData[name]))
	}
	sort.Strings(members)
	return "{" + strings.Join(members, ",") + "}"
}

// functionExamples puts every odd argument in every place of every function of a group.
func functionExamples(group string) []example {
	var all []example
	for _, function := range signatures {
		if function.group != group {
			continue
		}
		all = append(all, odd(calls(function, function.usual)...)...)
		for place := range function.usual {
			for _, argument := range oddArguments {
				arguments := append([]string{}, function.usual...)
				arguments[place] = argument
				all = append(all, odd(shown(function.name, arguments))...)
			}
		}
		// One argument fewer and one more than usual.
		if last := len(function.usual) - 1; last >= 0 {
			all = append(all, odd(shown(function.name, function.usual[:last]))...)
		}
		all = append(all, odd(shown(function.name, append(append([]string{}, function.usual...), `"more"`)))...)
	}
	return all
}

// calls are the two ways of a usual call: with all arguments, and with the last one piped.
func calls(function signature, arguments []string) []string {
	if len(arguments) == 0 {
		return []string{shown(function.name, nil)}
	}
	last := len(arguments) - 1
	return []string{
		shown(function.name, arguments),
		fmt.Sprintf("{{ %s | %s %s }}", arguments[last], function.name, strings.Join(arguments[:last], " ")),
	}
}

// shown is a call that prints the type and the value of its result.
func shown(name string, arguments []string) string {
	return fmt.Sprintf(`{{ $r := %s %s }}{{ typeOf $r }} {{ $r }}`, name, strings.Join(arguments, " "))
}

// areas are the conformance files by name.
func areas() map[string][]example {
	files := map[string][]example{
		"lexing":        lexingExamples(),
		"numbers":       numberExamples(),
		"fields":        fieldExamples(),
		"variables":     variableExamples(),
		"control":       controlExamples(),
		"define":        defineExamples(),
		"pipelines":     pipelineExamples(),
		"comparisons":   comparisonExamples(),
		"printf":        printfExamples(),
		"printing":      printingExamples(),
		"errors":        errorExamples(),
		"stacks":        stackExamples(),
		"missing":       missingExamples(),
		"regex-flavour": regexExamples(),
		"traps":         trapExamples(),
	}
	for _, function := range signatures {
		name := "functions-" + function.group
		if files[name] == nil {
			files[name] = functionExamples(function.group)
		}
	}
	return files
}

// writeConformance writes one file per area.
func writeConformance(directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for name, examples := range areas() {
		var text bytes.Buffer
		for _, asked := range questions(name, examples) {
			answered := evaluate(asked, maximumSteps)
			// The wording is Go's own and differs between its versions.
			answered.Message = ""
			if answered.NullsAbsent != nil {
				answered.NullsAbsent.Message = ""
			}
			text.Write(line(answered))
		}
		if err := os.WriteFile(filepath.Join(directory, name+".jsonl"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// questions numbers the examples of an area; an example that is there twice is asked once.
func questions(name string, examples []example) []question {
	seen := map[example]bool{}
	var all []question
	for _, one := range examples {
		if seen[one] {
			continue
		}
		seen[one] = true
		all = append(all, question{fmt.Sprintf("%s/%04d", name, len(all)), one.template, []byte(one.data)})
	}
	return all
}

package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"
)

// templateName is the name under which every case is parsed; a case can call itself by it.
const templateName = "template"

// question is one case: a template and the data that it is rendered with.
type question struct {
	ID       string          `json:"id"`
	Template string          `json:"template"`
	Data     json.RawMessage `json:"data"`
}

// result is Go's answer. Either Output (or OutputHex if it is not UTF-8) or Error is there.
type result struct {
	Output    *string `json:"output,omitempty"`
	OutputHex *string `json:"output_hex,omitempty"`
	Error     string  `json:"error,omitempty"`
	Message   string  `json:"message,omitempty"`
	Missing   missing `json:"missing,omitempty"`
	// OverNull says that Go failed because of a null, and would not fail because of an absent field.
	OverNull bool `json:"over_null,omitempty"`
}

// answer is a case with Go's answer.
type answer struct {
	question
	result
	// NullsAbsent is Go's answer when the nulls of the data's objects are left out, if Go fails over them otherwise.
	NullsAbsent *result `json:"nulls_absent,omitempty"`
}

// evaluate answers one case within a number of steps. It never fails: an error is an answer too.
func evaluate(asked question, steps int) answer {
	all := answer{question: asked, result: evaluateOnce(asked, steps)}
	if all.Error != "exec" {
		return all
	}
	if stripped, had := withoutNulls(asked.Data); had {
		other := evaluateOnce(question{asked.ID, asked.Template, stripped}, steps)
		if other.Error != all.Error || other.Missing != all.Missing {
			all.NullsAbsent = &other
		}
	}
	return all
}

func evaluateOnce(asked question, steps int) result {
	var answered result
	output, err := execute(asked, steps, nil)
	answered.Error, answered.Message = class(err)
	answered.OverNull = answered.Error == "exec" && (strings.Contains(answered.Message, "nil pointer evaluating") ||
		strings.Contains(answered.Message, "got interface {}"))
	if answered.Error != "parse" {
		answered.Missing = lookForMissing(asked, steps)
	}
	if err != nil {
		return answered
	}
	if utf8.ValidString(output) {
		answered.Output = &output
		return answered
	}
	encoded := hex.EncodeToString([]byte(output))
	answered.OutputHex = &encoded
	return answered
}

// complaints are Go's messages about a nil before a function sees it.
var complaints = []string{
	"nil pointer evaluating", "index of untyped nil", "index of nil pointer", "invalid value; expected", "got interface {}",
	"interface {} is nil, not map",
}

// lookForMissing evaluates the case a second time, and looks at every value that is needed.
func lookForMissing(asked question, steps int) missing {
	looking := &watch{data: map[uintptr]bool{}}
	_, err := execute(asked, steps, looking)
	if looking.seen == nothingMissing && err != nil {
		for _, complaint := range complaints {
			if strings.Contains(err.Error(), complaint) {
				return mayBeMissing
			}
		}
	}
	return looking.seen
}

// parseError marks Go's errors before anything is evaluated.
type parseError struct{ error }

func execute(asked question, steps int, looking *watch) (string, error) {
	data, err := decode(asked.Data)
	if err != nil {
		return "", err
	}
	limits := newGuard(steps)
	parsed := template.New(templateName).Funcs(functionsIn(asked.Template)).Funcs(limits.functions())
	if looking != nil {
		looking.remember(data)
		parsed.Funcs(looking.functions())
	}
	if parsed, err = parsed.Parse(asked.Template); err != nil {
		return "", parseError{err}
	}
	for _, each := range parsed.Templates() {
		// An empty template stays as it is: Go recognises an empty template by its empty tree.
		if each.Tree == nil || each.Root == nil || parse.IsEmptyTree(each.Root) {
			continue
		}
		if looking != nil {
			rewrite(each.Root)
		}
		instrument(each.Root)
	}
	err = parsed.Execute(limits, data)
	return limits.output.String(), err
}

// class gives the class and the text of an error.
func class(err error) (string, string) {
	var limit limitError
	var parsing parseError
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &limit):
		return "limit", limit.what
	case errors.As(err, &parsing):
		return "parse", err.Error()
	}
	return "exec", err.Error()
}

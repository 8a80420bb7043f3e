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

// answer is what Go says. Either Output (or OutputHex where it is not UTF-8) or Error is there.
type answer struct {
	question
	Output    *string `json:"output,omitempty"`
	OutputHex *string `json:"output_hex,omitempty"`
	Error     string  `json:"error,omitempty"`
	Message   string  `json:"message,omitempty"`
	Missing   missing `json:"missing,omitempty"`
}

// evaluate answers one case within a number of steps. It never fails: what goes wrong is an answer too.
func evaluate(asked question, steps int) answer {
	result := answer{question: asked}
	output, err := execute(asked, steps, nil)
	result.Error, result.Message = class(err)
	if result.Error != "parse" {
		result.Missing = lookForMissing(asked, steps)
	}
	if err != nil {
		return result
	}
	if utf8.ValidString(output) {
		result.Output = &output
		return result
	}
	encoded := hex.EncodeToString([]byte(output))
	result.OutputHex = &encoded
	return result
}

// lookForMissing evaluates the case a second time, with a look at every value that is needed.
func lookForMissing(asked question, steps int) missing {
	looking := &watch{}
	_, err := execute(asked, steps, looking)
	if looking.seen == nothingMissing && err != nil && strings.Contains(err.Error(), "nil pointer evaluating") {
		return mayBeMissing
	}
	return looking.seen
}

// parseError marks what Go says before anything is evaluated.
type parseError struct{ error }

func execute(asked question, steps int, looking *watch) (string, error) {
	data, err := decode(asked.Data)
	if err != nil {
		return "", err
	}
	limits := newGuard(steps)
	parsed := template.New(templateName).Funcs(functionsIn(asked.Template)).Funcs(limits.functions())
	if looking != nil {
		parsed.Funcs(looking.functions())
	}
	if parsed, err = parsed.Parse(asked.Template); err != nil {
		return "", parseError{err}
	}
	for _, each := range parsed.Templates() {
		// An empty template stays as it is: Go tells it from others by having nothing in it.
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

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	sprig "github.com/go-task/slim-sprig/v3"
)

func ask(text, data string) answer {
	return evaluate(question{"test", text, []byte(data)}, maximumSteps)
}

func TestEveryFunctionHasASignature(t *testing.T) {
	var signed []string
	for _, function := range signatures {
		signed = append(signed, function.name)
	}
	names := functionNames()
	slices.Sort(signed)
	slices.Sort(names)
	if !slices.Equal(signed, names) {
		t.Errorf("signatures %v\nfunctions %v", signed, names)
	}
}

func TestRemovedFunctionsExistInSprigOnly(t *testing.T) {
	for name := range removed {
		if _, found := sprig.TxtFuncMap()[name]; !found {
			t.Errorf("%s is not a function of slim-sprig", name)
		}
		if result := ask("{{ "+name+" }}", `null`); result.Error != "parse" {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

func TestUsualArgumentsWork(t *testing.T) {
	for _, function := range signatures {
		if function.name == "fail" || function.name == "call" {
			continue
		}
		text := shown(function.name, function.usual)
		if result := ask(text, oddDocument(text)); result.Error != "" || result.Missing != nothingMissing {
			t.Errorf("%s: %s %s %s", text, result.Error, result.Message, result.Missing)
		}
	}
}

func TestMissing(t *testing.T) {
	data := `{"a":{"n":null,"x":1}}`
	for text, want := range map[string]missing{
		`{{ .a.x }}`:                                nothingMissing,
		`{{ .a.n }}`:                                mustBeMissing,
		`{{ .b.c.d }}`:                              mustBeMissing,
		`{{ (.a.n) }}`:                              mustBeMissing,
		`{{ .a.n | print }}`:                        mustBeMissing,
		`{{ print .b | len }}`:                      mustBeMissing,
		`{{ len (print (print .b)) }}`:              mustBeMissing,
		`{{ if .b }}{{ end }}`:                      nothingMissing,
		`{{ if eq .b "x" }}{{ end }}`:               mayBeMissing,
		`{{ range .b }}{{ else }}{{ .c }}{{ end }}`: mustBeMissing,
		`{{ .b | default 1 }}`:                      nothingMissing,
		`{{ default .b .c }}`:                       mayBeMissing,
		`{{ or .b .c | quote }}`:                    mayBeMissing,
		`{{ $x := .b }}`:                            nothingMissing,
		`{{ $x := .b }}{{ $x }}`:                    mayBeMissing,
		`{{ $x := .a }}{{ $x.n }}`:                  mustBeMissing,
		`{{ index .a "q" }}`:                        mayBeMissing,
		`{{ list .b | len }}`:                       mayBeMissing,
		`{{ print nil }}`:                           mayBeMissing,
		`{{ .a.n.q }}`:                              mayBeMissing,
		`{{ template "t" }}{{ define "t" }}{{ .x }}{{ end }}`:    mayBeMissing,
		`{{ $x := dict }}{{ $x.b }}`:                             mayBeMissing,
		`{{ template "t" .a }}{{ define "t" }}{{ .q }}{{ end }}`: mustBeMissing,
		`{{ index .a "n" "q" }}`:                                 mayBeMissing,
		`{{ ternary 1 2 .b }}`:                                   mayBeMissing,
		`{{ fail "x" }}{{ .b }}`:                                 nothingMissing,
		`{{ .b }}{{ fail "x" }}`:                                 mustBeMissing,
		`{{ and false (upper .b) }}`:                             nothingMissing,
		`{{ template "t" .b }}{{ define "t" }}{{ . }}{{ end }}`:  mayBeMissing,
	} {
		if got := ask(text, data).Missing; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestHostileTemplatesAreStopped(t *testing.T) {
	for _, text := range []string{
		`{{ until 2000000000 }}`, `{{ until -2000000000 }}`, `{{ seq 1 2000000000 }}`, `{{ untilStep 0 9223372036854775807 4611686018427387905 }}`,
		`{{ repeat 2000000000 "x" }}`, `{{ indent 2000000000 "x" }}`, `{{ $_ := set . "a" . }}{{ . }}`, `{{ $_ := set . "a" (list .) }}{{ . }}`,
		`{{ range 9223372036854775807 }}{{ end }}`, `{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}{{ end }}`,
		`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, `{{ $x := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`,
		`{{ $x := "x" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}`, `{{ $x := "aa" }}{{ range until 40 }}{{ $x = replace "a" $x $x }}{{ end }}`,
		`{{ $x := list }}{{ range until 10000 }}{{ $x = list $x }}{{ end }}{{ $x }}`, `{{ range until 2000 }}{{ repeat 1000 "x" }}{{ end }}`, `{{ printf "%9999999d" 1 }}`, `{{ printf "%p" . }}`,
	} {
		if result := ask(text, `{}`); result.Error != "limit" {
			t.Errorf("%s: %s %s", text, result.Error, result.Message)
		}
	}
}

func TestNumbersAreThoseOfKubernetes(t *testing.T) {
	result := ask(`{{ range .l }}{{ typeOf . }} {{ . }};{{ end }}`, `{"l":[1,1.0,9223372036854775807,9223372036854775808,1e3]}`)
	want := "int64 1;float64 1;int64 9223372036854775807;float64 9.223372036854776e+18;float64 1000;"
	if result.Output == nil || *result.Output != want {
		t.Errorf("%+v", result)
	}
}

func TestTheSameSeedGivesTheSameCases(t *testing.T) {
	var all, one bytes.Buffer
	if err := answerRandom(&all, 7, 0, 600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(all.String(), "\n")
	if err := answerRandom(&one, 7, 555, 1); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(lines, strings.TrimSpace(one.String())) {
		t.Errorf("%s is not among the cases", one.String())
	}
}

func TestNullsTakenAsAbsent(t *testing.T) {
	answered := ask(`{{ if .a.n.x }}yes{{ else }}no{{ end }}`, `{"a":{"n":null}}`)
	if answered.Error != "exec" || answered.NullsAbsent == nil || *answered.NullsAbsent.Output != "no" {
		t.Errorf("%+v", answered)
	}
	if answered = ask(`{{ .a.x.y }}`, `{"a":{"n":null,"x":1}}`); answered.Error != "exec" || answered.NullsAbsent != nil {
		t.Errorf("%+v", answered)
	}
}

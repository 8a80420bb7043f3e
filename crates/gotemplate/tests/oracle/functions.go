package main

import (
	"fmt"
	"regexp"
	"sort"
	"text/template"

	sprig "github.com/go-task/slim-sprig/v3"
)

// removed are the functions of slim-sprig that a values template does not have, each with the reason.
var removed = map[string]string{
	"env":           "reads the operator's environment",
	"expandenv":     "reads the operator's environment",
	"getHostByName": "asks the network",
	"randInt":       "gives another answer every time",
	"now":           "reads the clock",
	"ago":           "reads the clock",

	"date":             "reads the clock when its argument is no date, and the local time zone",
	"date_in_zone":     "reads the clock when its argument is no date, and the zone database",
	"dateInZone":       "reads the clock when its argument is no date, and the zone database",
	"htmlDate":         "reads the clock when its argument is no date, and the local time zone",
	"htmlDateInZone":   "reads the clock when its argument is no date, and the zone database",
	"date_modify":      "needs a date",
	"dateModify":       "needs a date",
	"must_date_modify": "needs a date",
	"mustDateModify":   "needs a date",
	"toDate":           "reads the local time zone",
	"mustToDate":       "reads the local time zone",
	"unixEpoch":        "needs a date",
}

// replaced are functions whose answer in Go depends on the random order of a map; here the order is that of the keys.
var replaced = map[string]any{
	"keys": func(dictionaries ...map[string]any) []string {
		all := []string{}
		for _, dictionary := range dictionaries {
			all = append(all, sortedKeys(dictionary)...)
		}
		return all
	},
	"values": func(dictionary map[string]any) []any {
		all := []any{}
		for _, key := range sortedKeys(dictionary) {
			all = append(all, dictionary[key])
		}
		return all
	},
}

func sortedKeys(dictionary map[string]any) []string {
	keys := make([]string, 0, len(dictionary))
	for key := range dictionary {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// builtins are those of Go's own that are wrapped because their result can grow.
var builtins = map[string]any{
	"html":     template.HTMLEscaper,
	"js":       template.JSEscaper,
	"print":    fmt.Sprint,
	"printf":   fmt.Sprintf,
	"println":  fmt.Sprintln,
	"urlquery": template.URLQueryEscaper,
}

// plainBuiltins are those of Go's own that stay as they are.
var plainBuiltins = []string{"and", "or", "not", "len", "index", "call", "eq", "ne", "lt", "le", "gt", "ge"}

// addressVerb finds a printf verb that prints a memory address.
var addressVerb = regexp.MustCompile(`%[^a-zA-Z%]*p`)

// allFunctions is the function map of a values template, every function within the guard's bounds.
var allFunctions = func() template.FuncMap {
	functions := template.FuncMap{}
	for name, function := range sprig.TxtFuncMap() {
		if _, isRemoved := removed[name]; !isRemoved {
			functions[name] = guarded(name, function)
		}
	}
	for name, function := range replaced {
		functions[name] = guarded(name, function)
	}
	for name, function := range builtins {
		functions[name] = guarded(name, function)
	}
	return functions
}()

var word = regexp.MustCompile(`[a-zA-Z0-9_]+`)

// functionsIn are the functions whose names are in a text. Giving each of 100,000 templates the whole map would take
// most of the time.
func functionsIn(text string) template.FuncMap {
	functions := template.FuncMap{}
	for _, name := range word.FindAllString(text, -1) {
		if function, found := allFunctions[name]; found {
			functions[name] = function
		}
	}
	return functions
}

// functionNames are all functions that a values template can call.
func functionNames() []string {
	names := append([]string{}, plainBuiltins...)
	for name := range allFunctions {
		names = append(names, name)
	}
	return names
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// decode reads JSON as Kubernetes does (k8s.io/apimachinery/pkg/util/json): a number that is written as an integer and
// fits is an int64, every other number a float64.
func decode(document []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return withNumbers(value)
}

// withNumbers replaces every json.Number below value.
func withNumbers(value any) (any, error) {
	var err error
	switch value := value.(type) {
	case json.Number:
		return number(string(value))
	case []any:
		for i := range value {
			if value[i], err = withNumbers(value[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range value {
			if value[key], err = withNumbers(value[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func number(text string) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		if integer, err := strconv.ParseInt(text, 10, 64); err == nil {
			return integer, nil
		}
	}
	return strconv.ParseFloat(text, 64)
}

// withoutNulls is a document without the members of objects that are null, and whether there were any.
func withoutNulls(document []byte) ([]byte, bool) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || !dropNulls(value) {
		return nil, false
	}
	stripped, err := json.Marshal(value)
	return stripped, err == nil
}

func dropNulls(value any) bool {
	dropped := false
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if member == nil {
				delete(value, key)
				dropped = true
			} else if dropNulls(member) {
				dropped = true
			}
		}
	case []any:
		for _, element := range value {
			if dropNulls(element) {
				dropped = true
			}
		}
	}
	return dropped
}

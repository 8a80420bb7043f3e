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

// Command yaml tells what Go programs read from YAML documents.
//
// It reads JSON lines {"id": …, "yaml": "…"} and answers each with a line {"id": …, "flux": …, "kustomize": …}, each of
// the two being {"json": …} or {"error": "…"}. Versions are those of Flux's kustomize-controller 1.9.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

type request struct {
	ID   json.RawMessage `json:"id"`
	YAML string          `json:"yaml"`
}

type reading struct {
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

type answer struct {
	ID        json.RawMessage `json:"id"`
	Flux      reading         `json:"flux"`
	Kustomize reading         `json:"kustomize"`
}

// readAsFlux is how helm-controller, Helm and kubectl read.
func readAsFlux(document string) ([]byte, error) {
	return yaml.YAMLToJSON([]byte(document))
}

// readAsKustomize uses the parser below kustomize's kyaml, which reads the files of a Kustomization.
func readAsKustomize(document string) ([]byte, error) {
	var value any
	if err := yamlv3.Unmarshal([]byte(document), &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func readWith(reader func(string) ([]byte, error), document string) reading {
	value, err := reader(document)
	if err != nil {
		return reading{Error: err.Error()}
	}
	return reading{JSON: value}
}

func run(in io.Reader, out io.Writer) error {
	requests := json.NewDecoder(bufio.NewReader(in))
	writer := bufio.NewWriter(out)
	answers := json.NewEncoder(writer)
	for {
		var asked request
		if err := requests.Decode(&asked); err == io.EOF {
			return writer.Flush()
		} else if err != nil {
			return err
		}
		err := answers.Encode(answer{
			ID:        asked.ID,
			Flux:      readWith(readAsFlux, asked.YAML),
			Kustomize: readWith(readAsKustomize, asked.YAML),
		})
		if err != nil {
			return err
		}
	}
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "yaml oracle:", err)
		os.Exit(1)
	}
}

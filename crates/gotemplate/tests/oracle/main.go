// Command oracle is the oracle of gotemplate: it gives the answers of Go's own text/template with slim-sprig.
//
// Usage:
//
//	oracle run                          answers the cases (JSON lines) of standard input
//	oracle random --seed N --count M    makes up cases and answers them
//	oracle conformance --out DIR        writes the committed conformance files
//	oracle functions                    lists the function names, one per line
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"syscall"
)

func main() {
	// If a guard is missing, the oracle dies, not the machine.
	limit := syscall.Rlimit{Cur: maximumMemory, Max: maximumMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		fmt.Fprintln(os.Stderr, "oracle: memory limit:", err)
	}
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}

// command runs one mode of the program.
func command(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("one of run, random, conformance, functions is needed")
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	switch arguments[0] {
	case "run":
		return answerStream(os.Stdin, os.Stdout)
	case "random":
		seed := flags.Uint64("seed", 1, "the cases are a function of this number")
		first := flags.Uint64("first", 0, "number of the first case")
		count := flags.Uint64("count", 1000, "how many cases")
		if err := flags.Parse(arguments[1:]); err != nil {
			return err
		}
		return answerRandom(os.Stdout, *seed, *first, *count)
	case "conformance":
		directory := flags.String("out", "", "directory of the files")
		if err := flags.Parse(arguments[1:]); err != nil {
			return err
		}
		if *directory == "" {
			return fmt.Errorf("conformance needs --out")
		}
		return writeConformance(*directory)
	case "functions":
		names := functionNames()
		sort.Strings(names)
		for _, name := range names {
			fmt.Println(name)
		}
		return nil
	}
	return fmt.Errorf("unknown mode %q", arguments[0])
}

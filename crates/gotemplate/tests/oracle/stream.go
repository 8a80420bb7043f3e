package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"sync"
)

// batch is the number of cases that are answered at once; it bounds the memory.
const batch = 512

// answerStream answers JSON lines.
func answerStream(input io.Reader, output io.Writer) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 1<<26)
	writer := bufio.NewWriterSize(output, 1<<20)
	for {
		var asked []question
		for len(asked) < batch && lines.Scan() {
			var one question
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				return err
			}
			asked = append(asked, one)
		}
		if len(asked) == 0 {
			return errors.Join(lines.Err(), writer.Flush())
		}
		for _, answered := range answerBatch(asked, maximumSteps) {
			if _, err := writer.Write(line(answered)); err != nil {
				return err
			}
		}
	}
}

// answerRandom answers made-up cases, one after the other from the first number until there are enough. Cases that end
// in a limit of the oracle are left out: there is nothing to compare.
func answerRandom(output io.Writer, seed, first, count uint64) error {
	writer := bufio.NewWriterSize(output, 1<<20)
	for number := first; count > 0; number += batch {
		asked := make([]question, batch)
		for i := range asked {
			asked[i] = randomQuestion(seed, number+uint64(i))
		}
		for _, answered := range answerBatch(asked, randomSteps) {
			if answered.Error == "limit" || count == 0 {
				continue
			}
			count--
			if _, err := writer.Write(line(answered)); err != nil {
				return err
			}
		}
	}
	return writer.Flush()
}

// answerBatch answers on all processors, in the order of the questions.
func answerBatch(asked []question, steps int) []answer {
	answers := make([]answer, len(asked))
	var workers sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := worker; i < len(asked); i += runtime.GOMAXPROCS(0) {
				answers[i] = evaluate(asked[i], steps)
			}
		}()
	}
	workers.Wait()
	return answers
}

// line is one answer as JSON, without the escapes that HTML needs.
func line(answered answer) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answered); err != nil {
		panic(err) // The answer is strings and valid JSON.
	}
	return text.Bytes()
}

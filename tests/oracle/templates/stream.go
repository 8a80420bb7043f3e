package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"sync"
)

// batch is how many cases are answered at once; memory is bounded by it.
const batch = 512

// answerStream answers JSON lines.
func answerStream(input io.Reader, output io.Writer) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 1<<26)
	return answerAll(output, func() (question, bool, error) {
		if !lines.Scan() {
			return question{}, false, lines.Err()
		}
		var asked question
		err := json.Unmarshal(lines.Bytes(), &asked)
		return asked, err == nil, err
	})
}

// answerRandom answers made-up cases.
func answerRandom(output io.Writer, seed, first, count uint64) error {
	next := first
	return answerAll(output, func() (question, bool, error) {
		if next == first+count {
			return question{}, false, nil
		}
		next++
		return randomQuestion(seed, next-1), true, nil
	})
}

// answerAll answers what next gives, in that order, on all processors.
func answerAll(output io.Writer, next func() (question, bool, error)) error {
	writer := bufio.NewWriterSize(output, 1<<20)
	for {
		var asked []question
		more, err := true, error(nil)
		for more && len(asked) < batch {
			var one question
			if one, more, err = next(); err != nil {
				return err
			} else if more {
				asked = append(asked, one)
			}
		}
		for _, line := range answerBatch(asked) {
			if _, err := writer.Write(line); err != nil {
				return err
			}
		}
		if !more {
			return writer.Flush()
		}
	}
}

func answerBatch(asked []question) [][]byte {
	lines := make([][]byte, len(asked))
	var workers sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := worker; i < len(asked); i += runtime.GOMAXPROCS(0) {
				lines[i] = line(evaluate(asked[i]))
			}
		}()
	}
	workers.Wait()
	return lines
}

// line is one answer as JSON, without the escapes that HTML needs.
func line(result answer) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(result); err != nil {
		panic(err) // The answer is strings and valid JSON.
	}
	return text.Bytes()
}

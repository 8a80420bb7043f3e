package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// randomQuestion is a function of the seed and the number: the same two give the same case.
func randomQuestion(seed, number uint64) question {
	random := rand.New(rand.NewPCG(seed, number))
	data := randomData(random)
	grower := &grower{random: random, paths: paths(data), size: 1 + random.IntN(14)}
	text := grower.template()
	if random.IntN(16) == 0 {
		text = broken(random, text)
	}
	document, err := json.Marshal(data)
	if err != nil {
		panic(err) // The data is made of what JSON has.
	}
	return question{fmt.Sprintf("random/%d/%d", seed, number), text, document}
}

// broken is a template with a piece of text deleted, doubled, or replaced.
func broken(random *rand.Rand, text string) string {
	characters := []rune(text)
	for range 1 + random.IntN(2) {
		if len(characters) == 0 {
			return text
		}
		start := random.IntN(len(characters))
		end := min(len(characters), start+1+random.IntN(4))
		var piece []rune
		switch random.IntN(3) {
		case 1:
			piece = append(append(piece, characters[start:end]...), characters[start:end]...)
		case 2:
			piece = []rune(pick(random, shards))
		}
		characters = append(append(append([]rune{}, characters[:start]...), piece...), characters[end:]...)
	}
	return string(characters)
}

// shards are pieces of text that mean something to a lexer.
var shards = []string{
	"{{", "}}", "{{-", "-}}", "{{/*", "*/}}", "(", ")", "|", ":=", "=", ",", ".", "..", "$", "\"", "`", "'", "\\", "\n", " ",
	"end", "else", "if", "nil", "true", "1", "-", "é", "\x00", "😀", "{{end}}", "{{else}}", "_", "0x", "e",
}

func pick[T any](random *rand.Rand, choices []T) T { return choices[random.IntN(len(choices))] }

package main

import (
	"encoding/json"
	"math/rand/v2"
	"sort"
)

var (
	names = []string{
		"Cluster", "InfraCluster", "ControlPlane", "metadata", "spec", "status", "name", "namespace", "labels", "network", "id",
		"subnets", "cidr", "host", "port", "replicas", "ready", "version", "a", "b", "é", "_x", "x1",
	}
	texts = []string{
		"", "a", "prod-1", "default", "203.0.113.7", "v1.32.5", "10.0.0.0/16", "a,b,,c", "line\nline two\n", "  padded\t", "it's \"q\"",
		"é€😀", "Straße", "<a href='x'>&", "12", "-7", "0x1f", "1.5", "true", "null", "yes", "a: b", "# no", "%d %s", "{{ .x }}", "YWJj", "/a/../b.c",
		"https://u:p@h:80/p?q=1#f", "[1,{\"a\":null}]", "\u00a0\u2028\u0000", "a.b*c", "ÀÉÎ õü", "ǅ ﬁ İ ı ſ",
	}
	numbers = []json.Number{
		"0", "1", "-1", "2", "3", "7", "42", "-5", "6443", "65535", "2147483648", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"0.5", "1.5", "-2.25", "3.0", "1e3", "1e21", "1e-7", "100000000.0", "21000000.0", "123456.75", "0.1", "-0.0",
	}
)

// randomData is mostly an object shaped like those of Cluster API, sometimes any value.
func randomData(random *rand.Rand) any {
	if random.IntN(25) == 0 {
		return randomValue(random, 0)
	}
	root := randomObject(random, 2)
	for _, name := range []string{"Cluster", "InfraCluster", "ControlPlane"} {
		if random.IntN(2) > 0 {
			root[name] = map[string]any{"metadata": randomObject(random, 3), "spec": randomObject(random, 2), "status": randomValue(random, 2)}
		}
	}
	if random.IntN(4) > 0 {
		// The values that the usual arguments of functions name.
		for name, value := range oddData {
			root[name] = json.RawMessage(value)
		}
	}
	return root
}

func randomValue(random *rand.Rand, depth int) any {
	choice := random.IntN(12)
	if depth > 3 {
		choice = random.IntN(8)
	}
	switch choice {
	case 0, 1, 2, 3:
		return pick(random, texts)
	case 4, 5:
		return pick(random, numbers)
	case 6:
		return random.IntN(2) == 0
	case 7:
		return nil
	case 8, 9:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, randomValue(random, depth+1))
		}
		return list
	}
	return randomObject(random, depth+1)
}

func randomObject(random *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for range random.IntN(5) {
		object[pick(random, names)] = randomValue(random, depth)
	}
	return object
}

// paths are the field paths of a value, in order.
func paths(value any) []string {
	object, is := value.(map[string]any)
	if !is {
		return nil
	}
	var all []string
	for name, member := range object {
		all = append(all, "."+name)
		for _, below := range paths(member) {
			all = append(all, "."+name+below)
		}
	}
	sort.Strings(all)
	return all
}

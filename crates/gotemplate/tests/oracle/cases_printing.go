package main

import "strings"

func printfExamples() []example {
	flags := []string{"", "+", "-", "#", "0", " ", "+#", "-0", "+ ", "# ", "0+", "5", "05", "-5", "+5", "#5", "10.3", "-10.3", "010.3", "+010.3", ".0", ".", ".2", "5.", " 5", "#05", "#.3", "1"}
	values := []string{`42`, `-42`, `0`, `3.14159`, `-0.5`, `1e21`, `"héllo"`, `""`, `true`, `nil`, `'x'`, `.i`, `.f`, `.w`, `.n`, `.l`, `.m`, `.mm`, `.le`, `(until 3)`, `(list "a" nil)`, `(split "," "a,b")`, `(splitList "," "a,b")`}
	var all []example
	for _, verb := range strings.Split("vdsqxXobcUeEfFgGtTOw", "") {
		for _, flag := range flags {
			var arguments []string
			format := ""
			for _, value := range values {
				format += "[%" + flag + verb + "]"
				arguments = append(arguments, value)
			}
			// Values in groups: one call with all of them would hide which one differs.
			for start := 0; start < len(arguments); start += 6 {
				end := min(start+6, len(arguments))
				part := strings.Repeat("[%"+flag+verb+"]", end-start)
				all = append(all, odd("{{ printf \""+part+"\" "+strings.Join(arguments[start:end], " ")+" }}")...)
			}
		}
	}
	return append(all, odd(
		`{{ printf "%d %s" 1 }}`, `{{ printf "%d" 1 2 }}`, `{{ printf "%d" 1 "a" nil }}`, `{{ printf "%" }}`, `{{ printf "%%" }}`, `{{ printf "%%" 1 }}`, `{{ printf "a%" 1 }}`, `{{ printf "%!" 1 }}`, `{{ printf "%z" 1 }}`, `{{ printf "%z" "a" }}`, `{{ printf "%z" .m }}`, `{{ printf "%é" 1 }}`, `{{ printf "%-" 1 }}`, `{{ printf "%5" }}`, `{{ printf "%.d" 1 }}`,
		`{{ printf "%[2]d %[1]d" 1 2 }}`, `{{ printf "%[3]d" 1 2 }}`, `{{ printf "%[0]d" 1 }}`, `{{ printf "%[x]d" 1 }}`, `{{ printf "%[]d" 1 }}`, `{{ printf "%[1]d %d" 1 2 }}`, `{{ printf "%[2]*[1]d" 7 5 }}`, `{{ printf "%*d" 5 7 }}`, `{{ printf "%-*d|" 5 7 }}`, `{{ printf "%*d|" -5 7 }}`, `{{ printf "%.*f" 2 3.14159 }}`, `{{ printf "%*.*f" 8 2 3.14159 }}`, `{{ printf "%*d" "a" 7 }}`, `{{ printf "%.*d" -1 7 }}`, `{{ printf "%*d" .i 7 }}`, `{{ printf "%*d" 10000000 7 }}`, `{{ printf "%10000000d" 7 }}`, `{{ printf "%.10000000d" 7 }}`, `{{ printf "%[1" 7 }}`, `{{ printf "%[1]" 7 }}`, `{{ printf "%[1]d%[1]v%[1]q" 65 }}`, `{{ printf "%d%%" 50 }}`, `{{ printf "%6.2f|%-8s|%+d|%x" 3.14159 "go" 5 255 }}`,
		`{{ printf "%s" 1 }}`, `{{ printf "%d" "a" }}`, `{{ printf "%d" 1.5 }}`, `{{ printf "%f" 1 }}`, `{{ printf "%t" 1 }}`, `{{ printf "%c" "a" }}`, `{{ printf "%s" nil }}`, `{{ printf "%d" nil }}`, `{{ printf "%v" nil }}`, `{{ printf "%s" .l }}`, `{{ printf "%d" .l }}`, `{{ printf "%q" .ls }}`, `{{ printf "%x" "héllo" }}`, `{{ printf "% x" "héllo" }}`, `{{ printf "%#x" "hi" }}`, `{{ printf "% #X" "hi" }}`, `{{ printf "%x" .ls }}`, `{{ printf "%.2x" "hello" }}`, `{{ printf "%5.1s|" "héllo" }}`, `{{ printf "%-7q|" "é" }}`, `{{ printf "%+q" "é😀" }}`, `{{ printf "%#q" "a" }}`, "{{ printf \"%#q\" \"a`b\" }}", `{{ printf "%q" "\x00\x7f\t\u00a0\u2028" }}`, `{{ printf "%q" "\ufffd" }}`, `{{ printf "%q" 0x1F600 }}`, `{{ printf "%q" -1 }}`, `{{ printf "%c" 0x110000 }}`, `{{ printf "%U %#U" 0x1F600 0x1F600 }}`, `{{ printf "%08.3f" -3.14159 }}`, `{{ printf "%+.3e" 12345.678 }}`, `{{ printf "%g %g %g" 100000.0 1000000.0 1e21 }}`, `{{ printf "%G" 1e-7 }}`, `{{ printf "%b" 5 }}`, `{{ printf "%b" 1.5 }}`, `{{ printf "%x" 1.5 }}`, `{{ printf "%X" -255 }}`, `{{ printf "%o %O" 8 8 }}`, `{{ printf "%#o" 8 }}`, `{{ printf "%#b" 5 }}`, `{{ printf "% d" 5 }}`, `{{ printf "%+v" .m }}`, `{{ printf "%#v" .m }}`, `{{ printf "%#v" .l }}`, `{{ printf "%#v" "a" }}`, `{{ printf "%#v" 1.0 }}`, `{{ printf "%#v" 1e21 }}`, `{{ printf "%#v" (list 1 nil true) }}`, `{{ printf "%#v" (until 2) }}`, `{{ printf "%#v" (split "," "a") }}`, `{{ printf "%#v" nil }}`, `{{ printf "%T" .m }}`, `{{ printf "%T" nil }}`, `{{ printf "%T %T %T %T" 1 .i 1.5 'a' }}`, `{{ printf "%T" (until 1) }}`, `{{ printf "%T" (chunk 1 .ls) }}`, `{{ printf "%5v|%-5v|%05v" .ls .ls .i }}`, `{{ printf "%3d" .l }}`, `{{ printf "%6.2f" .m }}`, `{{ printf "%v" 100000000.0 }}`, `{{ printf "%v %v" 1e20 1e21 }}`, `{{ printf "%6d|%-6d|%06d" .neg .neg .neg }}`, `{{ printf "%s" .absent }}`, `{{ printf "%s-%s" .s .absent }}`, `{{ printf .s }}`, `{{ printf .absent }}`, `{{ printf .i }}`, `{{ printf "%s" (printf "%s" "x") }}`, `{{ printf "%v" (dict "b" (dict "y" 1 "x" nil) "a" (list)) }}`, `{{ printf "a\nb" }}`, `{{ printf "é%5sé" "é" }}`, `{{ printf "%05s|%-05s|%05q" "a" "b" "c" }}`, `{{ printf "%+d %+d" 1 -1 }}`, `{{ printf "%d:%d" .i .neg }}`, `{{ printf "%s:%d" .s .i }}`, `{{ printf "%s:%v" .s .w }}`, `{{ printf "%s" true }}`, `{{ printf "%w" "x" }}`,
	)...)
}

func printingExamples() []example {
	documents := []string{`{"v":null}`, `{"v":{}}`, `{"v":[]}`, `{"v":{"b":1,"a":null,"c":{"y":[1,2.5,"x",true,null],"x":{}}}}`, `{"v":[null,[],{},[[1]],"a b",""]}`, `{"v":"a\nb\t\"é"}`, `{"v":1e21}`, `{"v":100000000.0}`, `{"v":{"10":1,"9":2,"é":3,"Z":4,"a":5,"":6}}`, `{"v":[1,1.0,-0.0,1e-7,123456789,1e6,1e5]}`, `{"v":"<a href='x'>&\"\u0000\u2028"}`, `{"v":true}`, `{"v":"😀"}`}
	return with(documents, `{{ .v }}`, `{{ print .v }}`, `{{ println .v .v }}`, `{{ print .v .v 1 2 "a" "b" }}`, `{{ printf "%v %s %q" .v .v .v }}`, `{{ printf "%+v" .v }}`, `{{ printf "%#v" .v }}`, `{{ printf "%d" .v }}`, `{{ printf "%x" .v }}`, `{{ printf "%8v|%-8v|" .v .v }}`, `{{ toString .v }}`, `{{ quote .v }}`, `{{ squote .v }}`, `{{ toJson .v }}`, `{{ toPrettyJson .v }}`, `{{ toRawJson .v }}`, `{{ html .v }}`, `{{ js .v }}`, `{{ urlquery .v }}`, `{{ cat .v "x" .v }}`, `{{ join "," .v }}`, `{{ toStrings .v }}`, `{{ list .v .v }}`, `{{ dict "k" .v }}`, `{{ len .v }}`, `{{ typeOf .v }} {{ kindOf .v }}`, `{{ .v | toString | len }}`, `{{ range .v }}{{ . }};{{ end }}`, `{{ range $k, $v := .v }}{{ $k }}:{{ $v }};{{ end }}`, `{{ fromJson (toJson .v) }}`, `{{ toJson (dict "v" .v "l" (list .v 1 1.5 1e21)) }}`, `{{ empty .v }}`, `{{ default "d" .v }}`, `{{ deepEqual .v (fromJson (toJson .v)) }}`)
}

package main

// clusters are Cluster API objects as a values template sees them: complete, young, with nulls, without references.
var clusters = []string{
	`{"Cluster":{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Cluster","metadata":{"name":"prod-1","namespace":"customers","labels":{"env":"prod","tier":"a"},"annotations":{}},"spec":{"controlPlaneEndpoint":{"host":"203.0.113.7","port":6443},"clusterNetwork":{"pods":{"cidrBlocks":["10.96.0.0/16","fd00::/64"]},"services":{"cidrBlocks":["10.128.0.0/16"]},"serviceDomain":"cluster.local"},"topology":{"class":"openstack-scs-1-32-v1","version":"v1.32.5","variables":[{"name":"flavor","value":"SCS-2V-4"},{"name":"count","value":3},{"name":"dns","value":["9.9.9.9","1.1.1.1"]}],"workers":{"machineDeployments":[{"name":"a","replicas":3},{"name":"b"}]}}},"status":{"phase":"Provisioned","infrastructureReady":true,"controlPlaneReady":true}},"InfraCluster":{"spec":{"identityRef":{"cloudName":"openstack","name":"prod-1-cloud"},"externalNetwork":{"id":"ext-1"}},"status":{"network":{"id":"7b1c-net","name":"prod","subnets":[{"id":"s-1","cidr":"10.8.0.0/24"},{"id":"s-2","cidr":"10.8.1.0/24"}]},"ready":true,"bastion":null}},"ControlPlane":{"spec":{"replicas":3,"version":"v1.32.5"},"status":{"ready":true,"readyReplicas":3,"version":"v1.32.5"}}}`,
	`{"Cluster":{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"young","namespace":"default"},"spec":{"controlPlaneEndpoint":{"host":"","port":0},"topology":{"class":"docker-scs-1-30-v0-sha.rwvgrna","version":"v1.30.1","variables":[]}}},"InfraCluster":{"spec":{},"status":{}},"ControlPlane":{"spec":{"replicas":1}}}`,
	`{"Cluster":{"metadata":{"name":"nulls: \"quoted\" #1","namespace":"x","labels":null},"spec":{"controlPlaneEndpoint":null,"clusterNetwork":{"pods":{"cidrBlocks":[]}},"topology":{"version":"v1.29.0","variables":null}},"status":null},"InfraCluster":{"spec":{"identityRef":null},"status":{"network":null}}}`,
	`{"Cluster":{"metadata":{"name":"bare","namespace":"default"},"spec":{}}}`,
}

// stackExamples are typical templates of stacks: our own wording of the published ones, and of their authors' requests.
func stackExamples() []example {
	return with(clusters,
		"values: |\n  metrics-server:\n    commonLabels:\n      domain: \"{{ .Cluster.spec.controlPlaneEndpoint.host }}\"\n",
		"values: |\n  openstack-cinder-csi:\n    clusterID: \"{{ .Cluster.metadata.name }}\"\n",
		"values: |\n  openstack-cloud-controller-manager:\n    cluster:\n      name: {{ .Cluster.metadata.name }}\n",
		"values: |\n  cilium:\n    k8sServiceHost: {{ .Cluster.spec.controlPlaneEndpoint.host | quote }}\n    k8sServicePort: {{ .Cluster.spec.controlPlaneEndpoint.port }}\n    kubeProxyReplacement: true\n",
		"host: {{ printf \"%s:%d\" .Cluster.spec.controlPlaneEndpoint.host .Cluster.spec.controlPlaneEndpoint.port }}",
		"values: |\n  ccm:\n    networkID: {{ .InfraCluster.status.network.id }}\n    {{- range .InfraCluster.status.network.subnets }}\n    - {{ .id }} # {{ .cidr }}\n    {{- end }}\n",
		"subnets:\n{{- range $i, $subnet := .InfraCluster.status.network.subnets }}\n  s{{ $i }}: {{ $subnet.cidr | quote }}\n{{- else }}\n  none: true\n{{- end }}\n",
		"first: {{ (index .InfraCluster.status.network.subnets 0).id }}\n",
		"first: {{ index .InfraCluster.status.network.subnets 0 \"id\" }}\n",
		"{{- if .InfraCluster.status.network }}\nnet: {{ .InfraCluster.status.network.id }}\n{{- end }}\n",
		"{{- with .InfraCluster.status.network }}\nnet: {{ .id }}\n{{- else }}\nnet: none\n{{- end }}\n",
		"{{- if and .InfraCluster .InfraCluster.status .InfraCluster.status.ready }}\nready: {{ .InfraCluster.status.ready }}\n{{- end }}\n",
		"name: {{ .InfraCluster.spec.identityRef.cloudName | default \"openstack\" }}\n",
		"name: {{ default \"openstack\" .InfraCluster.spec.identityRef.name | quote }}\n",
		"podCIDR: {{ index .Cluster.spec.clusterNetwork.pods.cidrBlocks 0 }}\n",
		"podCIDRs: {{ join \",\" .Cluster.spec.clusterNetwork.pods.cidrBlocks | quote }}\n",
		"podCIDRs:\n{{- range .Cluster.spec.clusterNetwork.pods.cidrBlocks }}\n- {{ . }}\n{{- end }}\n",
		"{{- $blocks := .Cluster.spec.clusterNetwork.pods.cidrBlocks }}\n{{- if $blocks }}\ncidr: {{ first $blocks }}\n{{- end }}\n",
		"{{- range .Cluster.spec.topology.variables }}\n{{- if eq .name \"flavor\" }}\nflavor: {{ .value }}\n{{- end }}\n{{- end }}\n",
		"{{- range $v := .Cluster.spec.topology.variables }}\n{{ $v.name }}: {{ $v.value | toJson }}\n{{- end }}\n",
		"{{- $vars := dict }}{{ range .Cluster.spec.topology.variables }}{{ $_ := set $vars .name .value }}{{ end }}\nflavor: {{ get $vars \"flavor\" }}\ncount: {{ $vars.count | default 1 }}\ndns: {{ $vars.dns | toJson }}\n",
		"version: {{ trimPrefix \"v\" .Cluster.spec.topology.version }}\nminor: {{ (splitList \".\" .Cluster.spec.topology.version) | rest | first }}\n",
		"{{- $parts := split \".\" (trimPrefix \"v\" .Cluster.spec.topology.version) }}\nmajor: {{ $parts._0 }}\nminor: {{ $parts._1 | int | add1 }}\n",
		"labels: {{ .Cluster.metadata.labels | toJson }}\n",
		"{{- range $k, $v := .Cluster.metadata.labels }}\n{{ $k }}: {{ $v | quote }}\n{{- end }}\n",
		"{{- define \"labels\" }}\nenv: {{ .env | default \"dev\" }}\ntier: {{ .tier | quote }}\n{{- end }}\nlabels: {{- template \"labels\" .Cluster.metadata.labels }}\n",
		"{{- define \"endpoint\" -}}\n{{ .host }}:{{ .port }}\n{{- end -}}\nserver: https://{{ template \"endpoint\" .Cluster.spec.controlPlaneEndpoint }}\n",
		"values: |\n  config: {{ .Cluster.metadata.name | nindent 4 }}\n",
		"values: |\n  config: |\n{{ printf \"name=%s\\nport=%d\" .Cluster.metadata.name .Cluster.spec.controlPlaneEndpoint.port | indent 4 }}\n",
		"values: |\n  {{- if eq .Cluster.metadata.namespace \"customers\" }}\n  replicas: 3\n  {{- else }}\n  replicas: 1\n  {{- end }}\n",
		"values: |\n  a: 1\n  {{ if eq .Cluster.metadata.namespace \"customers\" }}\n  b: 2\n  {{ end }}\n  c: 3\n",
		"replicas: {{ .ControlPlane.spec.replicas }}\nready: {{ eq .ControlPlane.spec.replicas .ControlPlane.status.readyReplicas }}\n",
		"replicas: {{ if gt .ControlPlane.spec.replicas 1 }}2{{ else }}1{{ end }}\n",
		"{{- if .ControlPlane }}{{ if .ControlPlane.status }}\nv: {{ .ControlPlane.status.version }}{{ end }}{{ end }}\n",
		"{{- if hasKey . \"ControlPlane\" }}\nhas: control plane\n{{- end }}\n",
		"{{- if not .Cluster.status.infrastructureReady }}\nwait: true\n{{- end }}\n",
		"values: |\n  id: '{{ .Cluster.metadata.name }}'\n  b64: {{ .Cluster.metadata.name | b64enc }}\n  sha: {{ .Cluster.metadata.name | sha256sum | trunc 8 }}\n",
		"name: {{ printf \"%s-%s\" .Cluster.metadata.namespace .Cluster.metadata.name | trunc 12 | trimSuffix \"-\" }}\n",
		"workers: {{ len .Cluster.spec.topology.workers.machineDeployments }}\n{{- range .Cluster.spec.topology.workers.machineDeployments }}\n{{ .name }}: {{ .replicas | default 1 }}\n{{- end }}\n",
		"sum: {{ $sum := 0 }}{{ range .Cluster.spec.topology.workers.machineDeployments }}{{ $sum = add $sum (.replicas | default 1) }}{{ end }}{{ $sum }}\n",
		"{{- $ep := .Cluster.spec.controlPlaneEndpoint }}\nhost: {{ $ep.host }}\nport: {{ $ep.port | toString | quote }}\n",
		"domain: {{ dig \"spec\" \"clusterNetwork\" \"serviceDomain\" \"cluster.local\" .Cluster }}\n",
		"{{- $cluster := .Cluster -}}\n{{- with .InfraCluster -}}\nname: {{ $cluster.metadata.name }}\nid: {{ .status.network.id }}\n{{- end }}\n",
		"{{/* what this file is for */}}\nvalues: |\n  name: {{ .Cluster.metadata.name -}}\n",
		"cloud.conf: |\n  [Global]\n  cluster-name={{ .Cluster.metadata.name }}\n  {{- with .InfraCluster.spec.externalNetwork }}\n  floating-network-id={{ .id }}\n  {{- end }}\n",
		"all: {{ .Cluster.spec }}\n", "all: {{ .InfraCluster | toJson }}\n", "{{ toPrettyJson .Cluster.metadata }}", "{{ . }}", "{{ .ControlPlane }}", "{{ .NoSuch.thing }}", "{{ .Cluster.Spec }}", "{{ .Cluster.spec.controlPlaneEndpoint.host.name }}", "{{ .Cluster.spec.controlPlaneEndpoint.port | upper }}", "{{ index .Cluster.metadata.labels \"env\" }}", "{{ index .Cluster.metadata.annotations \"a/b\" }}", "{{ index .Cluster.metadata.annotations \"a/b\" | default \"none\" }}", "{{ ternary \"yes\" \"no\" (eq .Cluster.metadata.name \"bare\") }}", "{{ ternary 1 2 .InfraCluster.status.ready }}",
	)
}

// missingExamples are about values that are missing: printed, passed on, tested, walked through.
func missingExamples() []example {
	documents := []string{`{"a":{"x":1,"n":null}}`, `{"a":null}`, `{}`, `{"a":{"x":null,"n":{"y":2}}}`, `{"a":{"x":"s","l":[null,{"x":null}]}}`}
	return with(documents,
		`{{ .a.x }}`, `{{ .a.n }}`, `{{ .a.n.y }}`, `{{ .b }}`, `{{ .b.c.d }}`, `{{ $.b.c }}`, `{{ (.b).c }}`, `{{ (.a.n).y }}`, `{{ $v := .a.x }}{{ $v }}`, `{{ $v := .a }}{{ $v.x }}`, `{{ $v := .b }}{{ $v }}`, `{{ with .a }}{{ .x }}{{ end }}`, `{{ with $v := .a }}{{ $v.x }}{{ end }}`, `{{ range .a.l }}{{ . }}{{ end }}`, `{{ range .a.l }}{{ if . }}{{ .x }}{{ end }}{{ end }}`, `{{ range $i, $e := .a.l }}{{ $i }}{{ $e }}{{ end }}`, `{{ range .b }}{{ else }}none{{ end }}`,
		`{{ if .a.x }}y{{ else }}n{{ end }}`, `{{ if .b.c }}y{{ else }}n{{ end }}`, `{{ if not .b }}n{{ end }}`, `{{ if and .a .a.x }}{{ .a.x }}{{ end }}`, `{{ if or .a.x .a.n .b }}y{{ end }}`, `{{ or .a.x .b }}`, `{{ and .a .b }}`, `{{ or .b "d" }}`, `{{ .b | default "d" }}`, `{{ default "d" .a.x }}`, `{{ default .b .a.x }}`, `{{ default .b .c }}`, `{{ coalesce .b .a.x "d" }}`, `{{ coalesce .b .c }}`, `{{ empty .b }}`, `{{ all .a .b }}`, `{{ any .a .b }}`, `{{ ternary .b "x" true }}`, `{{ ternary .b "x" false }}`, `{{ ternary "a" "b" .b }}`, `{{ ternary "a" "b" (empty .b) }}`, `{{ hasKey . "b" }}`, `{{ hasKey .b "c" }}`, `{{ hasKey .a "x" }}`, `{{ kindOf .b }}`, `{{ typeOf .b }}`, `{{ kindIs "invalid" .b }}`, `{{ typeIs "string" .b }}`,
		`{{ quote .b }}`, `{{ .b | quote }}`, `{{ .a.x | quote }}`, `{{ squote .b "x" }}`, `{{ .b | upper }}`, `{{ upper .b }}`, `{{ .b | toString }}`, `{{ printf "%s" .b }}`, `{{ printf "%v" .a.x }}`, `{{ print .b }}`, `{{ print "a" .b }}`, `{{ println .a.x }}`, `{{ cat "a" .b }}`, `{{ .b | nindent 2 }}`, `{{ .b | toJson }}`, `{{ toJson .a }}`, `{{ .a }}`, `{{ .b | b64enc }}`, `{{ len .b }}`, `{{ index .b 0 }}`, `{{ index .b "x" }}`, `{{ index .a "x" }}`, `{{ index .a "none" }}`, `{{ index .a "none" | default "d" }}`, `{{ index .a .b }}`, `{{ get .a "none" }}`, `{{ get .b "x" }}`, `{{ dig "x" "d" .a }}`, `{{ dig "q" "d" .a }}`, `{{ dig "q" .b .a }}`, `{{ dig "n" "y" "d" .a }}`, `{{ keys .b }}`, `{{ join "," .b }}`, `{{ first .b }}`, `{{ has .b (list 1) }}`, `{{ list .b }}`, `{{ list .b | len }}`, `{{ list .b | first }}`, `{{ dict "k" .b }}`, `{{ (dict "k" .b).k }}`, `{{ add .b 1 }}`, `{{ add 1 .a.x }}`, `{{ int .b }}`, `{{ .b | int }}`, `{{ until .b }}`, `{{ eq .b "x" }}`, `{{ eq .a.x 1 }}`, `{{ eq "x" .b }}`, `{{ eq .b nil }}`, `{{ eq .b .c }}`, `{{ ne .b "x" }}`, `{{ lt .b 1 }}`, `{{ if eq .b "x" }}y{{ else }}n{{ end }}`, `{{ if and .b (eq .b "x") }}y{{ else }}n{{ end }}`, `{{ contains "x" .b }}`, `{{ fail .b }}`, `{{ html .b }}`, `{{ urlquery .b }}`, `{{ not .b }}`, `{{ deepEqual .b nil }}`, `{{ template "t" .b }}{{ define "t" }}[{{ . }}]{{ end }}`, `{{ template "t" .a }}{{ define "t" }}[{{ .x }}]{{ end }}`, `{{ template "t" .a }}{{ define "t" }}{{ if .x }}y{{ else }}n{{ end }}{{ end }}`, `{{ fromJson "null" }}`, `{{ first list }}`, `{{ coalesce nil }}`, `{{ print nil }}`, `{{ .b .c }}`, `{{ call .b }}`, `{{ regexMatch "x" .b }}`, `{{ set .a "k" .b }}`, `{{ pluck "x" .a .b }}`, `{{ pick .a "x" "none" }}`, `{{ values .a }}`, `{{ compact (list .b 1) }}`, `{{ without (list .b 1) .b }}`, `{{ toStrings (list .b 1) }}`,
	)
}

// regexExamples show the flavour: RE2 as Go has it.
func regexExamples() []example {
	var all []example
	for _, pattern := range []string{
		``, `a`, `a*`, `a+?`, `(a)(b)?`, `^`, `$`, `\b`, `\B`, `.`, `(?s).`, `(?i)ABC`, `(?m)^b`, `(?U)a+`, `a{2}`, `a{,2}`, `a{2,}`, `a{1,1000}`, `a{1001}`, `a{2}{3}`, `a**`, `a+*`, `(`, `)`, `[`, `]`, `[a`, `[]a]`, `[^]a]`, `[a-c]`, `[c-a]`, `[a-]`, `[-a]`, `[a\-c]`, `[[:alpha:]]+`, `[[:foo:]]`, `[^[:space:]]`, `\d+`, `\D`, `\w+`, `\W`, `\s`, `\S`, `\pL`, `\p{Greek}`, `\p{L}+`, `\P{Lu}`, `\p{Foo}`, `\x41`, `\x{e9}`, `\x{110000}`, `\101`, `\1`, `\Qa.b\E`, `\Q.`, `\z`, `\Z`, `\A`, `\a`, `\f\t\n\r\v`, `\e`, `\C`, `\X`, `\h`, `\R`, `\`, `(?P<n>a)`, `(?<n>a)`, `(?P<n>a)(?P<n>b)`, `(?P<1>a)`, `(?:a|b)+`, `a|b|`, `|a`, `(|a)*`, `(?=a)`, `(?!a)`, `(?<=a)`, `(?>a)`, `(?#c)a`, `(?x) a`, `(?i:a)B`, `(?-i)a`, `(?ii)a`, `(?z)a`, `*`, `+`, `?`, `a?b`, `é+`, `[é€]`, `[^a]`, `\.`, `\-`, `\/`, `\_`, `\é`, `\u0041`, `\<`, `a{`, `a{x}`, `{`, `}`, `a}`, `x*y*`, `(a+)+$`, `[&&a]`, `[a&&b]`, `[a--b]`, `[a~~b]`, `[[a]b]`, `\pN\pZ`, `(?R)`, `\G`, `\K`, `\N`, `$a`, `a^`, `(?:)`, `()`, `[\d-x]`, `[a-\d]`, `\x{}`, `\x4`, `\xg`, `\8`, `\0`, `\07`, `\12`, `(?P=n)`, `(?P>n)`, `\k<n>`, `(?i)ſ`, `(?i)K`, `[[:^alpha:]]`, `[[:word:]]`, `\p{Latin}`, `\p{Lu}\p{Ll}`, `\p^L`, `\p{^L}`, `\p{Any}`, `\p{Script=Greek}`, `(((((((((((a)))))))))))`, `a{0}`, `a{0,0}`, `(a{500}){3}`, `((a{100}){100}){100}`,
	} {
		data := []string{`{"p":` + string(jsonText(pattern)) + `,"t":"aabab\nb ABC éÉ€ a.b 12_x K"}`}
		all = append(all, with(data, `{{ regexMatch .p .t }}`, `{{ mustRegexMatch .p .t }}`, `{{ regexFind .p .t | quote }}`, `{{ regexFindAll .p .t -1 | toJson }}`, `{{ regexReplaceAll .p .t "<$0|$1|${n}|$$|$x>" }}`, `{{ regexSplit .p .t -1 | toJson }}`)...)
	}
	for _, replacement := range []string{``, `$`, `$$`, `$1`, `$1x`, `${1}x`, `${1`, `${}`, `$ {1}`, `$0$0`, `$9`, `$name`, `${name}`, `$-1`, `\1`, `$é`, `${1 }`, `$_`, `$01`, `$1$2`, `a$`, `$$1`, `${10}`, `$1_`} {
		data := []string{`{"r":` + string(jsonText(replacement)) + `}`}
		all = append(all, with(data, `{{ regexReplaceAll "(?P<name>a)(b)?" "ab-a-é" .r }}`, `{{ regexReplaceAll "" "aé" .r }}`, `{{ regexReplaceAllLiteral "a(b)?" "ab-a" .r }}`, `{{ regexReplaceAll "x*" "axb" .r }}`)...)
	}
	for _, count := range []string{"-2", "-1", "0", "1", "2", "3", "99"} {
		all = append(all, with(nothing, `{{ regexFindAll "a*" "baaac" `+count+` | toJson }}`, `{{ regexSplit "a" "banana" `+count+` | toJson }}`, `{{ regexSplit "" "abé" `+count+` | toJson }}`, `{{ regexSplit "x*" "axb" `+count+` | toJson }}`, `{{ regexSplit "a" "" `+count+` | toJson }}`, `{{ regexFindAll "" "é" `+count+` | toJson }}`, `{{ regexSplit "b$" "ab" `+count+` | toJson }}`)...)
	}
	return all
}

{{- /*
The manifests of the repository, which `make chart` puts into the package below manifests/, and what the values change in
them. The chart has no copy of its own.
*/ -}}

{{- /* The text of a file. */ -}}
{{- define "stackflux.file" -}}
{{- $text := .root.Files.Get (printf "manifests/%s" .path) -}}
{{- if not $text -}}
{{- fail (printf "the chart lacks manifests/%s: install a package that `make chart` has made" .path) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{- /* What the names of a shard end with. */ -}}
{{- define "stackflux.suffix" -}}
{{- with .Values.shard.name }}-{{ . }}{{ end -}}
{{- end -}}

{{- /* The ClusterStacks of a shard. */ -}}
{{- define "stackflux.selector" -}}
{{- with .Values.shard -}}
{{- if .name }}{{ .labelSelector | default (printf "shard=%s" .name) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* A file of flux/own-namespace with the namespaces of this release. */ -}}
{{- define "stackflux.elsewhere" -}}
{{- $text := include "stackflux.file" . -}}
{{- $text = replace ": stackflux-system\n" (printf ": %q\n" .root.Release.Namespace) $text -}}
{{- replace ": flux-system\n" (printf ": %q\n" .root.Values.fluxNamespace) $text -}}
{{- end -}}

{{- /*
Prints the objects of a YAML text.
  labels:    the labels that they get
  namespace: the namespace of those that have one
  suffix:    what the names of objects and of their references end with
*/ -}}
{{- define "stackflux.print" -}}
{{- $ := . -}}
{{- $suffix := .suffix | default "" -}}
{{- range splitList "\n---\n" .text }}
{{- $object := fromYaml . }}
{{- $metadata := $object.metadata }}
{{- $_ := set $metadata "name" (printf "%s%s" $metadata.name $suffix) }}
{{- with $.labels }}
{{- $_ := set $metadata "labels" (merge dict . ($metadata.labels | default dict)) }}
{{- end }}
{{- $isOfCluster := hasPrefix "Cluster" $object.kind }}
{{- if and $.namespace (not $isOfCluster) }}
{{- $_ := set $metadata "namespace" $.namespace }}
{{- end }}
{{- with $object.roleRef }}
{{- $_ := set . "name" (printf "%s%s" .name $suffix) }}
{{- end }}
{{- range $object.subjects }}
{{- $_ := set . "name" (printf "%s%s" .name $suffix) }}
{{- $_ := set . "namespace" $.root.Release.Namespace }}
{{- end }}
{{- if eq $object.kind "Deployment" }}
{{- include "stackflux.deployment" (dict "root" $.root "object" $object "labels" $.labels "suffix" $suffix) }}
{{- else if eq $object.kind "Role" }}
{{- include "stackflux.lease" (dict "root" $.root "object" $object) }}
{{- else if and (eq $object.kind "Service") $suffix }}
{{- $_ := set $object.spec.selector "shard" $.root.Values.shard.name }}
{{- else if hasPrefix "ValidatingAdmissionPolicy" $object.kind }}
{{- include "stackflux.policy" (dict "root" $.root "object" $object "suffix" $suffix) }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end -}}

{{- /* Changes the Deployment: the image, what places its Pods, and the flags. */ -}}
{{- define "stackflux.deployment" -}}
{{- $values := .root.Values -}}
{{- $spec := .object.spec -}}
{{- $_ := set $spec "replicas" $values.replicas -}}
{{- $template := $spec.template -}}
{{- $_ := set $template.metadata "labels" (merge dict .labels $template.metadata.labels) -}}
{{- $pod := $template.spec -}}
{{- $_ := set $pod "serviceAccountName" (printf "%s%s" $pod.serviceAccountName .suffix) -}}
{{- range $field := list "nodeSelector" "tolerations" "priorityClassName" -}}
{{- $_ := unset $pod $field -}}
{{- with index $values $field }}{{ $_ := set $pod $field . }}{{ end -}}
{{- end -}}
{{- $secrets := list -}}
{{- range $values.image.pullSecrets }}{{ $secrets = append $secrets (dict "name" .) }}{{ end -}}
{{- with $secrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end -}}
{{- $container := index $pod.containers 0 -}}
{{- $version := printf ":%s" ($values.image.tag | default .root.Chart.AppVersion) -}}
{{- with $values.image.digest }}{{ $version = printf "@%s" . }}{{ end -}}
{{- $_ := set $container "image" (printf "%s%s" $values.image.repository $version) -}}
{{- with $values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- $_ := unset $container "resources" -}}
{{- with $values.resources }}{{ $_ := set $container "resources" . }}{{ end -}}
{{- $args := list -}}
{{- $service := printf "//stackflux-git%s." .suffix -}}
{{- range $container.args }}{{ $args = append $args (replace "//stackflux-git." $service .) }}{{ end -}}
{{- with include "stackflux.selector" .root -}}
{{- $args = append $args (printf "--watch-label-selector=%s" .) -}}
{{- $_ := set $spec.selector.matchLabels "shard" $values.shard.name -}}
{{- $_ := set $template.metadata.labels "shard" $values.shard.name -}}
{{- end -}}
{{- if ne $values.fluxNamespace "flux-system" -}}
{{- $args = append $args (printf "--flux-namespace=%s" $values.fluxNamespace) -}}
{{- end -}}
{{- $ofRoles := dict "watch-label-selector" "shard" "flux-namespace" "fluxNamespace" -}}
{{- range $flag := $values.flags -}}
{{- range $name, $value := $ofRoles -}}
{{- if regexMatch (printf "^--%s(=|$)" $name) $flag -}}
{{- fail (printf "flags: roles depend on --%s: set %s instead" $name $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $container "args" (concat $args $values.flags) -}}
{{- end -}}

{{- /* The Lease of a shard has a name of its own. */ -}}
{{- define "stackflux.lease" -}}
{{- with include "stackflux.selector" .root -}}
{{- $lease := printf "stackflux-leader-election-%s" (sha256sum . | trunc 12) -}}
{{- range $.object.rules -}}
{{- if has "stackflux-leader-election" (.resourceNames | default list) -}}
{{- $_ := set . "resourceNames" (list $lease) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A policy about the operator names its account, also if that is none of the two that are shipped. */ -}}
{{- define "stackflux.policy" -}}
{{- $spec := .object.spec -}}
{{- with $spec.policyName }}{{ $_ := set $spec "policyName" (printf "%s%s" . $.suffix) }}{{ end -}}
{{- $account := printf "'system:serviceaccount:%s:stackflux%s'" .root.Release.Namespace .suffix -}}
{{- range $spec.matchConditions -}}
{{- if and (eq .name "is-stackflux") (not (contains $account .expression)) -}}
{{- $_ := set . "expression" (replace "in [" (printf "in [%s, " $account) .expression) -}}
{{- end -}}
{{- end -}}
{{- end -}}

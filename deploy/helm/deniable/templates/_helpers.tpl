{{- define "deniable.name" -}}
{{- if contains "deniable" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-deniable" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "deniable.selector" -}}
app.kubernetes.io/name: deniable
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "deniable.labels" -}}
{{ include "deniable.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* The file of settings of a role: [root, its values]. */ -}}
{{- define "deniable.settings" -}}
{{- $root := index . 0 -}}
{{- $own := index . 1 -}}
collections = ["/etc/deniable/collections"]
listen = "[::]:8470"
http = "0.0.0.0:8471"
{{- if not $root.Values.tls.secret }}
insecure = true    # who reaches what is said by the network policies
{{- end }}
workers = {{ $own.workers }}
shards = {{ $root.Values.store.shards }}
durability = {{ $root.Values.store.durability | quote }}
{{- if $root.Values.tls.secret }}
tls_cert = "/etc/deniable/tls/tls.crt"
tls_key = "/etc/deniable/tls/tls.key"
{{- end }}
{{- if $root.Values.tokens.secret }}
tokens = "/etc/deniable/tokens/{{ $root.Values.tokens.key }}"
{{- end }}
{{- with $root.Values.otlp }}
otlp = {{ . | quote }}
{{- end }}
{{- range $name, $value := $root.Values.settings }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- end }}

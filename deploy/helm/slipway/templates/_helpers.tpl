{{- define "slipway.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "slipway.agentNamespace" -}}
{{ .Values.agent.namespace | default (printf "%s-workers" .Release.Namespace) }}
{{- end }}

{{/* Labels of an object. Call with (dict "root" $ "part" NAME). */}}
{{- define "slipway.labels" -}}
{{ include "slipway.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: slipway
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Labels that find the Pods of a part. They never change. */}}
{{- define "slipway.selector" -}}
app.kubernetes.io/name: slipway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* Image of a part. */}}
{{- define "slipway.image" -}}
{{ .root.Values.image.prefix }}-{{ .part }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* Fields of a container that all parts share. */}}
{{- define "slipway.container" -}}
image: {{ include "slipway.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- end }}

{{/* What a part without rights may do: the "restricted" profile, and no writable root file system. */}}
{{- define "slipway.closed" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "slipway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* Where and how the Pods of a part run. */}}
{{- define "slipway.placement" -}}
{{- $own := .own -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with $own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Replicas on different nodes where there are some. */}}
{{- define "slipway.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: { {{- include "slipway.selector" . | replace "\n" ", " -}} } }
{{- end }}

{{/* Settings that an operator adds. They win over those of the chart, which come before them. */}}
{{- define "slipway.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Addresses of the replicas of core, which have names of their own. */}}
{{- define "slipway.coreAddresses" -}}
{{- $service := printf "%s-core.%s.svc" (include "slipway.name" .) .Release.Namespace -}}
{{- $addresses := list -}}
{{- range $number := until (int .Values.core.replicas) -}}
{{- $addresses = append $addresses (printf "%s-core-%d.%s:50051" (include "slipway.name" $) $number $service) -}}
{{- end -}}
{{ join "," $addresses }}
{{- end }}

{{/* How a part reaches core. */}}
{{- define "slipway.coreEnv" -}}
- name: SLIPWAY_CORE_ADDRESS
  value: {{ include "slipway.coreAddresses" . }}
- name: SLIPWAY_CORE_CA
  value: /run/slipway/core-ca/ca.crt
{{- end }}

{{- define "slipway.secretsName" -}}
{{ .Values.secrets.existingSecret | default (printf "%s-keys" (include "slipway.name" .)) }}
{{- end }}

{{/* A value of a Secret that is there already, in base64; empty if it is not. */}}
{{- define "slipway.kept" -}}
{{- $found := lookup "v1" "Secret" .namespace .name -}}
{{- if and $found $found.data (hasKey $found.data .key) -}}{{ index $found.data .key }}{{- end -}}
{{- end }}

#!/usr/bin/env bash
# What tests/cluster runs against: a real kube-apiserver, kubectl, and kine, which keeps the server's objects in SQLite. That is
# what k3s is made of; helm, which renders the chart; glua, which reads what Argo CD reads; what reads alert rules; and the
# definitions of k3s, Argo CD, Flux and Prometheus' operator. Built from their Go modules, once per version; prints the directory they are in.
#
# A directory in KUBEBUILDER_ASSETS is asked first. Needs Go; an older one fetches the toolchain that is needed as a module.
set -euo pipefail
export LC_ALL=C

KUBE=1.36.3
KINE=0.17.5
HELM=4.3.2
GLUA=1.1.1
PROMETHEUS=0.316.0

cache=${XDG_CACHE_HOME:-$HOME/.cache}/lamplighter-cluster/$KUBE-$KINE
mkdir -p "$cache"
source "$(dirname "$0")/../../release/go.sh"

# Everything under one name, whoever made it.
adopt() { # PROGRAM
	[[ -x $cache/$1 ]] && return
	[[ -n ${KUBEBUILDER_ASSETS-} && -x $KUBEBUILDER_ASSETS/$1 ]] || return 1
	ln -sf "$(realpath "$KUBEBUILDER_ASSETS/$1")" "$cache/$1"
}

kubernetes() { # PROGRAM…
	local source stamp=-X\ k8s.io/component-base/version
	say "building $* $KUBE, which takes some minutes the first time"
	mkdir -p "$work/kube" "$work/made"
	printf 'module kube\n\ngo 1.26.0\n' >"$work/kube/go.mod"
	source=$(cd "$work/kube" && "$go" mod download -json "k8s.io/kubernetes@v$KUBE" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') || true
	[[ -d $source ]] || { say "Kubernetes' source does not come: see that the Go module proxy can be reached"; return 1; }
	{
		printf 'module kube\n\ngo 1.26.0\n\ngodebug default=go1.26\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$KUBE"
		# its staging repositories are the requirements at exactly v0.0.0
		grep -oE 'k8s\.io/[a-z0-9-]+ v0\.0\.0( .*)?$' "$source/go.mod" |
			awk -v v="v0.${KUBE#1.}" '{print "\t" $1 " => " $1 " " v}' | sort -u
		printf ')\n'
	} >"$work/kube/go.mod"
	import kube "${@/#/k8s.io/kubernetes/cmd/}"
	build kube "$work/made/" "$stamp.gitVersion=v$KUBE $stamp.gitMajor=1 $stamp.gitMinor=${KUBE:2:2}" "${@/#/k8s.io/kubernetes/cmd/}"
	(cd "$work/made" && mv "$@" "$cache/")
}

kine() {
	say "building kine $KINE"
	mkdir -p "$work/kine"
	printf 'module kine\n\ngo 1.26.0\n\nrequire github.com/k3s-io/kine v%s\n' "$KINE" >"$work/kine/go.mod"
	import kine github.com/k3s-io/kine
	# without cgo it has an SQLite in pure Go
	build kine "$work/made-kine" "" github.com/k3s-io/kine
	mv "$work/made-kine" "$cache/kine"
}

helm() {
	say "building helm $HELM"
	mkdir -p "$work/helm"
	printf 'module helm\n\ngo 1.26.0\n\nrequire helm.sh/helm/v4 v%s\n' "$HELM" >"$work/helm/go.mod"
	import helm helm.sh/helm/v4/cmd/helm
	build helm "$work/made-helm" "-X helm.sh/helm/v4/internal/version.version=v$HELM" helm.sh/helm/v4/cmd/helm
	mv "$work/made-helm" "$cache/helm"
	echo "$HELM" >"$cache/helm.version"
}

has_helm() { adopt helm && [[ -L $cache/helm || $(cat "$cache/helm.version" 2>/dev/null) == "$HELM" ]]; }

glua() {
	mkdir -p "$work/glua"
	printf 'module glua\n\ngo 1.26.0\n\nrequire github.com/yuin/gopher-lua v%s\n' "$GLUA" >"$work/glua/go.mod"
	import glua github.com/yuin/gopher-lua/cmd/glua
	build glua "$work/made-glua" "" github.com/yuin/gopher-lua/cmd/glua
	mv "$work/made-glua" "$cache/glua"
}

# What `promtool check rules` does, without all else that it brings.
promrules() {
	say "building what reads alert rules of Prometheus $PROMETHEUS"
	mkdir -p "$work/promrules"
	printf 'module promrules\n\ngo 1.26.0\n\nrequire github.com/prometheus/prometheus v%s\n' "$PROMETHEUS" >"$work/promrules/go.mod"
	cat >"$work/promrules/main.go" <<-'GO'
		package main

		import (
			"fmt"
			"log/slog"
			"os"

			"github.com/prometheus/common/model"
			"github.com/prometheus/prometheus/model/rulefmt"
			"github.com/prometheus/prometheus/promql/parser"
		)

		func main() {
			rules := parser.NewParser(parser.Options{})
			_, errors := rulefmt.ParseFile(os.Args[1], false, model.UTF8Validation, rules, slog.Default())
			for _, err := range errors {
				fmt.Fprintln(os.Stderr, err)
			}
			if len(errors) > 0 {
				os.Exit(1)
			}
		}
	GO
	build promrules "$work/made-promrules" "" .
	mv "$work/made-promrules" "$cache/promrules"
}

# Of kinds that are not ours: module, and where they lie in it.
DEFINITIONS=(
	"github.com/k3s-io/helm-controller@v0.17.9 pkg/crds/yaml/generated/helm.cattle.io_helmcharts.yaml"
	"github.com/argoproj/argo-cd/v3@v3.5.7 manifests/crds/applicationset-crd.yaml"
	"github.com/fluxcd/source-controller@v1.9.3 config/crd/bases/source.toolkit.fluxcd.io_gitrepositories.yaml"
	"github.com/fluxcd/kustomize-controller@v1.9.3 config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml"
	"github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"
	"github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"
)

has_definitions() { [[ $(cat "$cache/definitions/made-of" 2>/dev/null) == "${DEFINITIONS[*]}" ]]; }

definitions() {
	local line directory
	say "fetching the definitions of k3s, Argo CD, Flux and Prometheus' operator"
	mkdir -p "$work/definitions" "$work/fetch"
	printf 'module fetch\n' >"$work/fetch/go.mod"
	for line in "${DEFINITIONS[@]}"; do
		directory=$(cd "$work/fetch" && GOFLAGS=-mod=mod "$go" mod download -json "${line% *}" | sed -n 's/^\t"Dir": "\(.*\)".*/\1/p') || true
		[[ -d $directory ]] || { say "${line% *} does not come: see that the Go module proxy can be reached"; return 1; }
		install -m 0644 "$directory/${line#* }" "$work/definitions/"
	done
	echo "${DEFINITIONS[*]}" >"$work/definitions/made-of"
	rm -rf "$cache/definitions"
	mv "$work/definitions" "$cache/definitions"
}

missing=()
for program in kube-apiserver kubectl; do adopt $program || missing+=("$program"); done
if ((${#missing[@]})) || ! adopt kine || ! has_helm || ! adopt glua || ! adopt promrules || ! has_definitions; then
	find_go
	((${#missing[@]} == 0)) || kubernetes "${missing[@]}"
	adopt kine || kine
	has_helm || helm
	adopt glua || glua
	adopt promrules || promrules
	has_definitions || definitions
fi
echo "$cache"

#!/usr/bin/env bash
# What tests/cluster runs against: a real kube-apiserver, kubectl, and kine, which keeps the server's objects in SQLite. That is
# what k3s is made of; and helm, which renders the chart. Built from their Go modules, once per version; prints the directory
# they are in.
#
# A directory in KUBEBUILDER_ASSETS is asked first. Needs Go; an older one fetches the toolchain that is needed as a module.
set -euo pipefail
export LC_ALL=C

KUBE=1.36.3
KINE=0.17.5
HELM=4.3.2
TOOLCHAIN=1.26.8 # what Kubernetes $KUBE asks for, or newer

cache=${XDG_CACHE_HOME:-$HOME/.cache}/lamplighter-cluster/$KUBE-$KINE
mkdir -p "$cache"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

say() { echo "cluster: $*" >&2; }

# Everything under one name, whoever made it.
adopt() { # PROGRAM
	[[ -x $cache/$1 ]] && return
	[[ -n ${KUBEBUILDER_ASSETS-} && -x $KUBEBUILDER_ASSETS/$1 ]] || return 1
	ln -sf "$(realpath "$KUBEBUILDER_ASSETS/$1")" "$cache/$1"
}

is_new_enough() { # GO
	local version
	version=$("$1" env GOVERSION 2>/dev/null) || return
	printf '%s\n' "go$TOOLCHAIN" "$version" | sort --version-sort --check=quiet || [[ $version == go$TOOLCHAIN ]]
}

install_go() {
	local root=()
	[[ $(id -u) -eq 0 ]] || root=(sudo -n)
	say "installing Debian's Go"
	"${root[@]}" apt-get update -qq && "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends golang-go ca-certificates
} >&2 </dev/null

# A Go of any age can fetch a newer one: toolchains are modules.
find_go() {
	PATH=$PATH:/usr/local/go/bin
	command -v go >/dev/null || install_go || { say "there is no Go and apt-get cannot install it: install Go"; return 1; }
	go=$(command -v go)
	is_new_enough "$go" && return
	local platform directory
	platform=$("$go" env GOOS)-$("$go" env GOARCH)
	say "fetching Go $TOOLCHAIN for $platform"
	mkdir -p "$work/toolchain"
	printf 'module lamplighter.dev/toolchain\n' >"$work/toolchain/go.mod"
	directory=$(cd "$work/toolchain" && GOFLAGS=-mod=mod "$go" mod download -json "golang.org/toolchain@v0.0.1-go$TOOLCHAIN.$platform" |
		sed -n 's/.*"Dir": "\(.*\)".*/\1/p') || true
	[[ -d $directory ]] || { say "the toolchain does not come: see that the Go module proxy can be reached"; return 1; }
	# what a module cannot carry: go.mod files of other modules, and executable bits
	cp -r "$directory" "$work/go"
	chmod -R u+w "$work/go"
	find "$work/go" -name _go.mod -execdir mv {} go.mod \;
	chmod +x "$work/go/bin/"* "$work/go/pkg/tool/"*/*
	go=$work/go/bin/go
	is_new_enough "$go" || { say "Go $TOOLCHAIN does not run"; return 1; }
}

build() { # DIRECTORY OUTPUT FLAGS PACKAGE…
	local output=$2 flags=$3
	cd "$work/$1"
	GOTOOLCHAIN=local GOFLAGS=-mod=mod "$go" mod tidy >&2
	GOTOOLCHAIN=local GOFLAGS=-buildvcs=false CGO_ENABLED=0 "$go" build -trimpath -ldflags "-s -w $flags" -o "$output" "${@:4}" >&2
	cd - >/dev/null
}

import() { # DIRECTORY PACKAGE…
	printf '//go:build tools\n\npackage tools\n\nimport (\n' >"$work/$1/tools.go"
	printf '\t_ "%s"\n' "${@:2}" >>"$work/$1/tools.go"
	printf ')\n' >>"$work/$1/tools.go"
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

missing=()
for program in kube-apiserver kubectl; do adopt $program || missing+=("$program"); done
if ((${#missing[@]})) || ! adopt kine || ! has_helm; then
	find_go
	((${#missing[@]} == 0)) || kubernetes "${missing[@]}"
	adopt kine || kine
	has_helm || helm
fi
echo "$cache"

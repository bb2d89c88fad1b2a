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

missing=()
for program in kube-apiserver kubectl; do adopt $program || missing+=("$program"); done
if ((${#missing[@]})) || ! adopt kine || ! has_helm; then
	find_go
	((${#missing[@]} == 0)) || kubernetes "${missing[@]}"
	adopt kine || kine
	has_helm || helm
fi
echo "$cache"

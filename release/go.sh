# Go programs from their modules; to be sourced. Needs Go; an older one fetches the toolchain that is needed as a module.
TOOLCHAIN=1.26.8 # what Kubernetes asks for, or newer

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

say() { echo "go: $*" >&2; }

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

#!/usr/bin/env bash
# Makes the container image of a binary that build.sh made, without Docker: from nothing, the binary and the authorities that
# the web knows, for a user without rights. Prints where it is: an OCI archive, which k3s imports from its agent/images and
# `ctr images import` and `podman load` know too. The same binary and authorities make the same bytes.
#
#   image.sh [BINARY]
set -euo pipefail
export LC_ALL=C

UMOCI=0.6.0
NAME=lamplighter.dev/lamplighter
USER_ID=65532 # who runs distroless images too

cd "$(dirname "$0")/.."
binary=$(realpath "${1:-$(release/build.sh)}")
source release/go.sh
say() { echo "image: $*" >&2; }

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
date=$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
authorities=${AUTHORITIES:-/etc/ssl/certs/ca-certificates.crt}
[[ -f $authorities ]] || { say "there is no $authorities: install ca-certificates, or set AUTHORITIES to such a file"; exit 1; }

case $(readelf --file-header "$binary" | sed -n 's/ *Machine: *//p') in
*X86-64) architecture=amd64 ;;
AArch64) architecture=arm64 ;;
ARM) architecture=arm ;;
*) say "$binary is of no architecture that k3s runs on"; exit 1 ;;
esac
! readelf --wide --program-headers "$binary" | grep -q INTERP || { say "$binary is not static: nothing else is in the image"; exit 1; }

tools=${XDG_CACHE_HOME:-$HOME/.cache}/lamplighter-tools
umoci=$tools/umoci-$UMOCI
if [[ ! -x $umoci ]]; then
	say "building umoci $UMOCI"
	find_go
	mkdir -p "$tools" "$work/umoci"
	printf 'module umoci\n\ngo 1.26.0\n\nrequire github.com/opencontainers/umoci v%s\n' "$UMOCI" >"$work/umoci/go.mod"
	import umoci github.com/opencontainers/umoci/cmd/umoci
	build umoci "$work/made-umoci" "" github.com/opencontainers/umoci/cmd/umoci
	mv "$work/made-umoci" "$umoci"
fi

archive() { # OUTPUT DIRECTORY: the same whoever makes it, and when
	tar --create --file "$1" --directory "$2" --format ustar --sort name --mtime "@$SOURCE_DATE_EPOCH" \
		--owner 0 --group 0 --numeric-owner --mode 'u=rwX,go=rX' --no-acls --no-xattrs -- $(ls "$2")
}

root=$work/root layout=$work/layout
install -D -m 0755 "$binary" "$root/lamplighter"
install -D -m 0644 "$authorities" "$root/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0::/:\nlamplighter:x:%s:%s::/:\n' $USER_ID $USER_ID >"$root/etc/passwd"
printf 'root:x:0:\nlamplighter:x:%s:\n' $USER_ID >"$root/etc/group"
archive "$work/layer.tar" "$root"

"$umoci" init --layout "$layout"
"$umoci" new --image "$layout:$version"
"$umoci" raw add-layer --image "$layout:$version" --history.created "$date" --history.created_by release/image.sh "$work/layer.tar"
"$umoci" config --image "$layout:$version" --no-history --created "$date" --os linux --architecture "$architecture" \
	--config.user "$USER_ID:$USER_ID" --config.workingdir / --config.entrypoint /lamplighter \
	--config.label "org.opencontainers.image.title=lamplighter" \
	--config.label "org.opencontainers.image.version=$version" \
	--config.label "org.opencontainers.image.licenses=Apache-2.0"
"$umoci" gc --layout "$layout"
# by its whole name, which is what a node looks for
sed -i "s|\"org.opencontainers.image.ref.name\":\"$version\"|&,\"io.containerd.image.name\":\"$NAME:$version\"|" "$layout/index.json"
grep -q "$NAME:$version" "$layout/index.json" || { say "the image has no name"; exit 1; }

out=${CARGO_TARGET_DIR:-target}/image
mkdir -p "$out"
out=$out/lamplighter-$version-$architecture.tar
archive "$out.part" "$layout"
mv "$out.part" "$out"
say "$NAME:$version for $architecture, $(($(stat --format %s "$out") / 1024)) KiB"
realpath "$out"

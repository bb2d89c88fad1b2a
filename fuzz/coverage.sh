#!/usr/bin/env bash
# cargo's RUSTC_WRAPPER for run.sh: coverage of the crates that read what devices send. Of all the others it would be minutes of
# building and nothing to learn, and a macro with it, which is built without --target, could not be loaded by the compiler.
# Cargo does not see that the flags here changed: remove fuzz/target then.
set -euo pipefail

case " $* " in
*" --crate-name lamplighter "*" --target "* | *" --crate-name answer "*" --target "* | *" --crate-name serde_json "*" --target "* | \
	*" --crate-name percent_encoding "*" --target "*)
	exec "$@" --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
		-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
		-Cllvm-args=-sanitizer-coverage-trace-compares
	;;
esac
exec "$@"

# `make check` is the inner loop, `make test` everything, cheap first. See CONTRIBUTING.md.
.PHONY: check test test-props test-core test-memory test-image test-services test-cluster test-real release image bench

CARGO_TEST := cargo test --locked

# The simulated world computes for minutes unless it is optimised a little; only this crate is built twice for it.
SIM := $(CARGO_TEST) --config profile.dev.package.lamplighter.opt-level=1 --test sim

check:
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	$(CARGO_TEST) --lib
	$(SIM)
	$(CARGO_TEST) --test it engine::

test: check test-props test-core test-memory test-image test-services test-cluster test-real

# What must hold whatever happens, in 10,000 cases: six tests, two minutes of processor time.
test-props:
	PROPTEST_CASES=1700 $(SIM) props::

# The rooms through their fronts: architecture, store, devices, manifests, command line, simulation.
test-core:
	$(CARGO_TEST) --bins --test it
	$(CARGO_TEST) --doc

# What is shipped, through 500 gateways, over plain HTTP and TLS, and idle, within its budgets.
test-memory:
	tests/memory/run.sh
	tests/memory/tls.sh

# What is shipped, as an image, unpacked and run by its own user. As root, for what a container runtime does.
test-image:
	image=$$(release/image.sh) && LAMPLIGHTER_IMAGE=$$image $(CARGO_TEST) --test image

# What is shipped, with a real systemd in namespaces of its own, installed from Debian's packages if it is missing: how often units
# are really restarted. Needs root, and the API server of test-cluster.
test-services:
	tests/cluster/build.sh
	binary=$$(release/build.sh --or-dynamic) && LAMPLIGHTER=$$binary tests/services/run.sh \
		$(CARGO_TEST) --test services -- --test-threads=3

# The binary and a real API server, built from its Go modules if it is not there: some minutes the first time. Each test has a
# server of its own. One of them updates a real SWUpdate.
test-cluster:
	tests/real/install.sh
	tests/cluster/build.sh
	$(CARGO_TEST) --test cluster -- --test-threads=3

# What is shipped, with a real SWUpdate, nginx and registry, installed from Debian's packages if they are missing. Three at a time:
# each is mostly waiting.
test-real:
	tests/real/install.sh
	binary=$$(release/build.sh --or-dynamic) && LAMPLIGHTER=$$binary $(CARGO_TEST) --test real -- --test-threads=3

# What is shipped: a static binary, target/TARGET/release/lamplighter. TARGET= names another than musl on this architecture.
release:
	@release/build.sh $(TARGET)

# What is shipped as a container image, target/image/*.tar, for k3s's agent/images. Builds its tool from Go modules.
# TARGET= as above.
image:
	@binary=$$(release/build.sh $(TARGET)) && release/image.sh "$$binary"

# Figures of what is shipped for docs/measurements.md, beside their budgets, and beside nginx. Fails where a broken one is a count,
# a ratio or memory. First, half a minute of any requests at all to the device API.
bench:
	fuzz/run.sh 30
	tests/real/install.sh
	binary=$$(release/build.sh) && LAMPLIGHTER=$$binary tests/services/run.sh cargo bench --locked --bench figures
	tests/memory/tls.sh 64Mi
	$(CARGO_TEST) --profile bench --test it fetch::bench -- --ignored --nocapture --test-threads=1

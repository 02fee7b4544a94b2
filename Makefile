# Verde. `make demo` shows it, `make test` checks everything; both set
# themselves up on a fresh Debian 12 with Rust, gcc and make.

CARGO ?= cargo

.PHONY: demo test setup lint unit fuzz bench-monitor bench-checkpoint release

demo: setup
	@$(CARGO) build --quiet -p verde -p verde-python
	@sh examples/queue/demo target/debug/verde

test: setup lint unit fuzz

setup:
	@sh scripts/setup

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

# The plugin is loaded at run time, so cargo does not know that tests need it.
unit:
	$(CARGO) build --workspace
	$(CARGO) test --workspace

FUZZ_SECONDS ?= 20
fuzz: setup
	sh scripts/fuzz $(FUZZ_SECONDS)

release:
	$(CARGO) build --release -p verde -p verde-python

# The table goes to docs/measurements.md as it is.
bench-monitor: setup release
	$(CARGO) build --release -p verde-bench
	@mkdir -p bench/out
	target/release/monitor target/release/verde | tee bench/out/monitor.md

bench-checkpoint: setup
	$(CARGO) build --release -p verde-bench --bin checkpoint
	@mkdir -p bench/out
	target/release/checkpoint | tee bench/out/checkpoint.md

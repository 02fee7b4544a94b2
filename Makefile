# Verde. `make demo` shows it, `make test` checks everything; both set
# themselves up on a fresh Debian 12 with Rust, gcc and make.

CARGO ?= cargo

.PHONY: demo test setup lint unit fuzz bench bench-monitor bench-checkpoint release

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

# The paper's experiments beside gdb: bench/report/report.md, and the summary in docs/measurements.md.
# QUICK=1 takes less than three minutes and leaves the documentation alone; ONLY=cost,gap chooses.
BENCH = $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))
ifeq ($(QUICK)$(ONLY),)
BENCH += --page docs/measurements.md
endif
TARGET = $(or $(CARGO_TARGET_DIR),target)
bench: setup release
	@$(CARGO) build --release --quiet -p verde-bench --bin experiments
	$(TARGET)/release/experiments $(TARGET)/release/verde bench/report $(BENCH)

# Verde. `make demo` shows it, `make test` checks everything; both set
# themselves up on a fresh Debian 12 with Rust, gcc and make.

CARGO ?= cargo

.PHONY: demo test setup lint unit page web fuzz bench bench-monitor bench-checkpoint bench-debugger bench-page release

demo: setup
	@$(CARGO) build --quiet -p verde -p verde-python
	@sh examples/queue/demo target/debug/verde

test: setup lint unit page fuzz

setup:
	@sh scripts/setup

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

# The plugin is loaded at run time, so cargo does not know that tests need it.
unit:
	$(CARGO) build --workspace
	$(CARGO) test --workspace

# The live page: its sources are checked and are what is embedded, then a browser drives it.
page: setup web/node_modules/.package-lock.json
	cd web && ./node_modules/.bin/tsc -p . && node build.mjs --check
	$(CARGO) build -p verde -p verde-python
	cd web && node --test test/*.test.mjs

# Builds the live page from its sources into what the binary embeds.
web: setup web/node_modules/.package-lock.json
	cd web && ./node_modules/.bin/tsc -p . && node build.mjs

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund

FUZZ_SECONDS ?= 20
fuzz: setup
	sh scripts/fuzz $(FUZZ_SECONDS)

release:
	$(CARGO) build --release -p verde -p verde-python

# Tables go to docs/measurements.md as they are.
bench-monitor: setup release
	$(CARGO) build --release -p verde-bench
	@mkdir -p bench/out
	target/release/monitor target/release/verde | tee bench/out/monitor.md
	sh scripts/figures monitor bench/out/monitor.md

bench-checkpoint: setup
	$(CARGO) build --release -p verde-bench --bin checkpoint
	@mkdir -p bench/out
	target/release/checkpoint | tee bench/out/checkpoint.md
	sh scripts/figures checkpoint bench/out/checkpoint.md

# The same. The large program is a build of verde with all debug information.
bench-debugger: setup release
	$(CARGO) build --release -p verde-bench
	$(CARGO) build --config 'profile.dev.debug="full"' \
		--config 'profile.dev.package."*".debug="full"' --target-dir target/full -p verde
	@mkdir -p bench/out
	target/release/debugger target/release/verde target/full/debug/verde | tee bench/out/debugger.md
	sh scripts/figures debugger bench/out/debugger.md

bench-page: setup release web/node_modules/.package-lock.json
	@mkdir -p bench/out
	cd web && VERDE=$(abspath target/release/verde) node bench/page.mjs | tee ../bench/out/page.md
	sh scripts/figures page bench/out/page.md

# The paper's experiments beside gdb: bench/report/report.md, and the summary in docs/measurements.md.
# QUICK=1 takes less than three minutes and leaves the documentation alone; ONLY=cost,gap chooses.
BENCH = $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))
ifeq ($(QUICK)$(ONLY),)
BENCH += --page docs/measurements.md
endif
TARGET = $(or $(CARGO_TARGET_DIR),target)
bench: setup
	$(CARGO) build --release -p verde -p verde-python -p verde-bench
	$(TARGET)/release/experiments $(TARGET)/release/verde bench/report $(BENCH)

# The entry point for contributors. CI calls the same targets.
.DEFAULT_GOAL := help
.PHONY: help demo demo-down testbed testbed-down build chart check book deny static dist image reproducible test test-long test-packages test-shared simulate simulate-exhaustive mutants conformance fuzz bench bench-operator clean

CARGO ?= cargo
# Dependencies that the pure core must not have (docs: the core cannot do I/O).
SHELL_ONLY := tokio|hyper|tower|rustls|git2|kube-client
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The seconds of each test on the testbed, written by the tests.
SCENARIOS := $(TARGET)/testbed/seconds

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## the whole product on this machine: Cluster API, Flux, operator, two clusters, and their upgrade
	$(CARGO) build --quiet --locked --workspace --bin testbed
	CARGO="$(CARGO)" examples/demo/run

demo-down: ## stop what `make demo` started
	examples/demo/stop
	$(TARGET)/debug/testbed down

testbed: ## start real Kubernetes API servers and a real Flux on loopback; the first time builds them (minutes)
	$(CARGO) run --quiet --package stackflux-testbed --bin testbed -- up

testbed-down: ## stop exactly what `make testbed` started
	$(CARGO) run --quiet --package stackflux-testbed --bin testbed -- down

build: ## build the binary, optimised
	$(CARGO) build --release --locked

# Packages: the same content gives the same bytes.
DIST := $(TARGET)/dist
VERSION := $(shell sed -n 's/^version: //p' charts/stackflux/Chart.yaml)
PACK := tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --create

chart: ## pack the Helm chart, and the manifests for an OCI artifact, into target/dist (docs/do/install.md has how to push them)
	@rm -rf $(DIST)/stackflux $(DIST)/manifests && mkdir -p $(DIST)/manifests
	@cp -R crds flux monitoring $(DIST)/manifests && rm -r $(DIST)/manifests/monitoring/tests
	@cp -R charts/stackflux $(DIST) && cp -R $(DIST)/manifests LICENSE $(DIST)/stackflux
	@$(PACK) --directory $(DIST) stackflux | gzip -n > $(DIST)/stackflux-$(VERSION).tgz
	@$(PACK) --directory $(DIST)/manifests . | gzip -n > $(DIST)/stackflux-manifests-$(VERSION).tgz
	@rm -r $(DIST)/stackflux
	@echo "$(DIST)/stackflux-$(VERSION).tgz and $(DIST)/manifests, packed as $(DIST)/stackflux-manifests-$(VERSION).tgz"

# With clippy as Cargo's wrapper, as .ci/run sets it, the workspace is linted as it is compiled for the tests. The tests then run
# code without the checks for null and misaligned pointers that a debug build has otherwise.
ifeq ($(notdir $(RUSTC_WORKSPACE_WRAPPER)),clippy-driver)
export CLIPPY_ARGS := -Dwarnings__CLIPPY_HACKERY__
LINT := $(CARGO) build --locked
else
LINT := $(CARGO) clippy --locked
DENY := -- -D warnings
endif

check: ## formatting, lints, the words of texts, the direction of imports, and that the pure core stays pure
	$(CARGO) fmt --all --check
	$(LINT) --workspace --all-targets $(DENY)
	$(LINT) --test shared_content $(DENY)
	$(CARGO) clippy --no-default-features --locked -- -D warnings
	$(CARGO) test --locked --test integration -- language:: architecture:: transcripts::
	for directory in $(FUZZ_DIRS); do \
		env -u RUSTC_WORKSPACE_WRAPPER $(CARGO) check --manifest-path $$directory/Cargo.toml --target-dir $(TARGET) --locked || exit 1; done
	@! $(CARGO) tree --package gotemplate --edges normal,features --locked | grep -n preserve_order || \
		{ echo "gotemplate alone must be tested without serde_json's feature preserve_order" >&2; exit 1; }
	@tree=$$($(CARGO) tree --package stackflux --no-default-features --edges normal --prefix none --locked) || exit 1; \
	if echo "$$tree" | grep -E '^($(SHELL_ONLY))[ -]'; then \
		echo "the pure core depends on the above (cargo tree --no-default-features)" >&2; exit 1; fi
	@if grep -q '^name = "aws-lc-rs"' Cargo.lock; then \
		echo "Cargo.lock holds aws-lc-rs: two TLS providers in one binary panic" >&2; exit 1; fi

# The one place of its version. It is no part of the build: only this target installs it.
MDBOOK_VERSION := 0.5.4
MDBOOK := $(abspath $(TARGET))/tools/mdbook-$(MDBOOK_VERSION)/bin/mdbook

$(MDBOOK):
	$(CARGO) install --root $(TARGET)/tools/mdbook-$(MDBOOK_VERSION) --locked --version $(MDBOOK_VERSION) \
		--no-default-features --features search mdbook

book: export MDBOOK := $(MDBOOK)
book: export BOOK := $(abspath $(TARGET))/book
book: $(MDBOOK) ## build the documents as a site with search, and check all its links; the first time installs mdBook (minutes)
	@rm -rf $(TARGET)/book $(TARGET)/book-source
	@$(CARGO) test --quiet --locked --test integration -- --ignored --exact book::site_is_whole
	@test -e $(TARGET)/book/index.html || { echo "the test that builds the site did not run" >&2; exit 1; }
	@echo "$(TARGET)/book/index.html"

deny: ## licences, duplicates and advisories of the dependencies, by deny.toml; needs cargo-deny and network access
	cargo deny --locked check bans licenses sources
	@if cargo deny fetch db >/dev/null 2>&1; then cargo deny --locked check advisories; \
	else echo "NOT CHECKED: advisories, because the advisory database cannot be fetched" >&2; fi

static: ## the static binary for Linux on amd64 (10 minutes; needs musl-gcc, and Rust's target x86_64-unknown-linux-musl)
	@crates/packages/build

# Where the archive will be offered: the manifest of the Flux plugin names it.
DIST_URL ?= https://example.org/stackflux
dist: ## archive, checksums, bill of materials and Flux plugin manifest of the static binary, in target/dist
	@binary=$$(crates/packages/build) && $(CARGO) run --quiet --locked --package stackflux-packages -- dist \
	  --binary "$$binary" --url "$(DIST_URL)" --output-dir $(DIST)

image: ## an OCI image layout with the operator's image and one without a distribution, in target/dist/image (needs mmdebstrap)
	@rm -rf $(DIST)/image
	@binary=$$(crates/packages/build) && root=$$(crates/packages/root) && \
	  $(CARGO) run --quiet --locked --package stackflux-packages -- image \
	  --binary "$$binary" --root "$$root" --output-dir $(DIST)/image

# It leaves what `make dist` has made.
reproducible: TWO := $(TARGET)/two
reproducible: ## build the archive here and, of the last commit, in a second directory, and compare (25 minutes)
	@rm -rf $(TWO) && git clone --quiet . $(TWO)/clone
	@$(MAKE) --no-print-directory dist DIST=$(TWO)
	@env -u CARGO_TARGET_DIR $(MAKE) --no-print-directory -C $(TWO)/clone dist TARGET=target DIST=target/dist
	@cd $(TWO) && cmp stackflux_$(VERSION)_checksums.txt clone/target/dist/stackflux_$(VERSION)_checksums.txt && \
	cat stackflux_$(VERSION)_checksums.txt
	@rm -rf $(TWO) && echo "two builds gave the same bytes"

# Most scenarios wait for Flux: four run at a time on two processors, too.
test test-long: export RUST_TEST_THREADS := $(or $(RUST_TEST_THREADS),$(shell n=$$(nproc); echo $$((n > 4 ? n : 4))))
test: ## all tests of the repository, and the seconds of each scenario on the testbed
	@rm -f $(SCENARIOS)
	@$(CARGO) test --workspace --locked --no-fail-fast; status=$$?; \
	GOTEMPLATE_CASES=5000 $(CARGO) test --package gotemplate --locked || status=1; \
	if [ -e $(SCENARIOS) ]; then echo "Seconds of each scenario on the testbed:"; sort -rn $(SCENARIOS); fi; exit $$status

# CONTRIBUTING.md has the reason of each.
LONG := cluster_api operator::leaders operator::lies operator::outages operator::quiet
test-long test-shared: export STACKFLUX_SHARED := $(abspath $(or $(STACKFLUX_SHARED),../shared))
test-long: ## the scenarios that find more the longer they wait, or that wait for minutes, and the packages (one hour)
	TEST_LONG=1 $(CARGO) test --locked --test on_testbed -- $(LONG:%=%::)
	$(CARGO) test --locked --test on_testbed -- --ignored
	@if [ -d "$$STACKFLUX_SHARED" ]; then $(CARGO) test --locked --test shared_content -- workers:: components::; \
	else echo "NOT TESTED: workers and components, because $$STACKFLUX_SHARED is not a directory" >&2; fi
	$(MAKE) image test-packages

test-packages: reproducible ## compare two builds of the archive, and run the images of `make image` in a chroot (half an hour; needs root)
	@[ -e $(DIST)/image/index.json ] || $(MAKE) image
	$(CARGO) test --locked --package stackflux-packages --test image -- --ignored

test-shared: ## tests over real stacks and objects in the directory STACKFLUX_SHARED (default ../shared)
	@test -d "$$STACKFLUX_SHARED" || { echo "$$STACKFLUX_SHARED is not a directory: set STACKFLUX_SHARED" >&2; exit 1; }
	$(CARGO) test --locked --test shared_content -- --skip workers:: --skip components::

# What the seeds of each scenario reach, written by the simulations.
REACHED := $(or $(CARGO_TARGET_DIR),target)/tmp/reached

# Simulations with Git write many small files: in memory, if the system has a place there, they take a fifth less time.
MEMORY := $(wildcard /dev/shm/.)
ifneq ($(MEMORY),)
simulate simulate-exhaustive: export TMPDIR := $(MEMORY:/.=)
endif

simulate: export SEEDS := $(or $(SEEDS),10000)
simulate: export BASE := $(or $(BASE),$(shell date +%s))
simulate: ## simulate the operator with SEEDS=10000 new seeds (from BASE) over all scenarios, or with SEED=17 and SCENARIO=<test>
	@rm -rf $(REACHED)
	@$(CARGO) test --profile simulate --locked --test simulation --no-run
	@begun=$$(date +%s); $(CARGO) test --profile simulate --locked --test simulation -- $(or $(SCENARIO),scenarios::) && \
	echo "$${SEED:+seed $$SEED of }$(SEEDS) seeds in $$(($$(date +%s) - begun)) s, BASE=$(BASE)"
	@test -n "$(SEED)$(SCENARIO)$(INTERRUPT)" || awk -F '\t' '{ seeds[$$2] += $$1 } \
		END { for (name in seeds) { printf "%6d seeds reach %s\n", seeds[name], name | "sort -rn"; none = none || !seeds[name] }; \
		close("sort -rn"); if (none) print "no seed reaches the last of these" > "/dev/stderr"; exit none }' $(REACHED)/*

simulate-exhaustive: ## simulate each scenario with a crash, or an empty or outdated list, at each write of the operator
	@$(CARGO) test --profile simulate --locked --test simulation --no-run
	@begun=$$(date +%s); INTERRUPT=all $(CARGO) test --profile simulate --locked --test simulation -- scenarios:: --skip guards --nocapture 2>&1 | \
		tee $(or $(CARGO_TARGET_DIR),target)/tmp/exhaustive.log | grep -a ' interruptions$$\|^test result\|fails (' ; \
	grep -aq '^test result: ok' $(or $(CARGO_TARGET_DIR),target)/tmp/exhaustive.log || { echo "see $(or $(CARGO_TARGET_DIR),target)/tmp/exhaustive.log" >&2; exit 1; }; \
	echo "all interruptions in $$(($$(date +%s) - begun)) s"

mutants: export SEEDS := $(or $(SEEDS),10000)
mutants: ## take guards out of the operator, one at a time, or those of MUTANT=<name>,<name>, and show which test notices each (hours)
	@$(CARGO) run --quiet --locked --package stackflux-mutants

conformance: ## write the conformance cases of gotemplate again, from what Go's own template engine says
	cd crates/gotemplate/tests/oracle && go run . conformance --out ../conformance

bench: ## what plans, publishing, hostile templates and delivery through Git cost, in figures; fails when a bar is missed
	$(CARGO) bench --locked --bench plan
	$(CARGO) bench --locked --bench git_delivery
	$(CARGO) bench --locked --bench publish
	$(CARGO) bench --locked --bench serve
	$(CARGO) bench --locked --package gotemplate

bench-operator: ## what the operator costs, beside a plain client that writes the same (20 minutes); fails when a bar is missed
	$(CARGO) bench --locked --bench operator

SECONDS ?= 30
FUZZ_DIRS := tests/fuzz crates/gotemplate/fuzz
FUZZ_TARGETS ?= $(basename $(notdir $(wildcard $(FUZZ_DIRS:%=%/fuzz_targets/*.rs))))
# The directory of a target.
fuzz_dir = $(patsubst %/fuzz_targets/$(1).rs,%,$(wildcard $(FUZZ_DIRS:%=%/fuzz_targets/$(1).rs)))

fuzz: $(FUZZ_TARGETS:%=fuzz-%) ## feed hostile bytes to every parser, SECONDS=30 for each; needs nightly Rust and cargo-fuzz

# All targets are built before the first one runs: with `make -j2 fuzz` two run at a time, and neither waits for a build.
.PHONY: fuzz-build
fuzz-build:
	@$(CARGO) +nightly --version >/dev/null 2>&1 || \
		{ echo "make fuzz: nightly Rust is missing; install it with: rustup toolchain install nightly" >&2; exit 1; }
	@$(CARGO) +nightly fuzz --version >/dev/null 2>&1 || \
		{ echo "make fuzz: cargo-fuzz is missing; install it with: cargo install cargo-fuzz --locked" >&2; exit 1; }
	$(foreach target,$(FUZZ_TARGETS),$(CARGO) +nightly fuzz build --fuzz-dir $(call fuzz_dir,$(target)) $(target) &&) true

fuzz-%: fuzz-build
	mkdir -p $(call fuzz_dir,$*)/corpus/$*
	$(CARGO) +nightly fuzz run --fuzz-dir $(call fuzz_dir,$*) $* $(call fuzz_dir,$*)/corpus/$* $(call fuzz_dir,$*)/seeds/$* -- \
		-max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
		$(addprefix -dict=,$(wildcard $(call fuzz_dir,$*)/$*.dict))

clean: ## stop the testbed and remove what was built (not the testbed's cache of components)
	@test ! -e $(TARGET)/testbed/up/state.json || $(MAKE) testbed-down
	$(CARGO) clean

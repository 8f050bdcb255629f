# What the targets of the Makefile have in common: names, and steps that nobody types.

SHELL := /bin/bash
SWIFT ?= swift
DEBUG := .build/debug
RELEASE := .build/release
LAB := $(RELEASE)/lab
MANUAL := .build/plugins/GenerateManual/outputs/juice
PYTHON := .build/venv/bin/python
VENV := .build/venv/ready
PEERS := .build/peers/bin/python
SOURCES := --recursive --parallel Package.swift Sources Tools Tests Examples
# The flags of every debug build. With different flags, builds would invalidate each other.
STRICT := -Xswiftc -warnings-as-errors
RUN_TESTS = ./scripts/watch_tests.py $(SWIFT) test --skip-build $(STRICT)
# Tests that only compute. They run separately: on Swift's few threads they would block the services of other tests, which mostly
# wait.
UNIT := CoreTests\.
export PYTHONDONTWRITEBYTECODE := 1

# Says what is built: the product, its folder.
building = [ -e $(2)/juice ] || echo "The first build takes about five minutes on two cores, most of it for dependencies; later ones take seconds. [done/all] shows the progress."; \
	echo "Building $(1)"
# Measures on a broker: what, further options.
measure = for what in $(1); do echo && $(LAB) bench $$what --bootstrap-servers "$(BOOTSTRAP)" $(2) || exit $$?; done
LATENCY := "latency --rate 100" "latency --rate 1000"
# The manual pages: flags of the build, configuration.
manual = $(SWIFT) package $(1) --allow-writing-to-package-directory generate-manual --configuration $(2) --multi-page \
	> .build/manual.log 2>&1 || { cat .build/manual.log; exit 1; }

.DEFAULT_GOAL := help
.PHONY: $(shell sed -nE 's/^([a-z-]+):.*/\1/p' Makefile scripts/ci.mk)

# Installs everything first: two targets that install side by side would fail on the package manager's lock.
tools: $(VENV)
	@./scripts/setup.sh kcat browser systemd-analyze valgrind
	@./scripts/setup-prometheus.sh > /dev/null

# needs-kcat installs kcat if it is missing.
needs-%:
	@./scripts/setup.sh $*

# Python packages in a virtual environment, which is recreated when the requirements change.
$(VENV): Tests/requirements.txt
	@./scripts/setup.sh python
	@echo "Installing the Python packages of $<"
	@rm -rf $(@D) && python3 -m venv $(@D)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# What else can be given is in MORE.
broker:
	@[ -n "$(BOOTSTRAP)" ] || { echo "Name a broker: make $(firstword $(MAKECMDGOALS)) BOOTSTRAP=host:port$(MORE)"; exit 64; }

# All debug products in one build: building them one by one would rebuild shared parts.
debug-build: setup
	@$(call building,with warnings as errors,$(DEBUG))
	@$(SWIFT) build --build-tests $(STRICT)

# The same, for targets that are run alone. In `make test` it is already a stage of its own.
built: $(if $(IN_STAGES),,debug-build)

unit-tests: built
	@$(RUN_TESTS) --filter '$(UNIT)'

seeds: built
	@$(DEBUG)/simulate --seeds 200

# Tests on a real broker come last: beside the others, the broker would wait for the processor, and they would take it for an outage.
tests: built
	@env -u KAFKA_BOOTSTRAP_SERVERS $(RUN_TESTS) --skip '$(UNIT)'
	@[ -z "$$KAFKA_BOOTSTRAP_SERVERS" ] || $(RUN_TESTS) --filter RealBroker

# Torture, benchmark, soak and simulation in a release build; of these and their dependencies alone.
lab: setup
	@echo "Building lab and simulate (release)"
	@$(SWIFT) build -c release --product lab
	@$(SWIFT) build -c release --product simulate

# What a release build shows, in one stage: beside tests that mostly wait.
optimised: cost flaws

cost: lab needs-valgrind
	@echo "Counting an order's heap allocations: there must be none"
	@$(LAB) bench heap --orders 200000 --check
	@echo "Counting an order's instructions: not 3 % more than before"
	@./scripts/instructions.sh --check $(LAB) engine

# Optimised code simulates some forty times as fast.
flaws: lab
	@echo "Simulating the engine, and each flaw in it, which must be found"
	@$(RELEASE)/simulate --seeds 2000
	@$(RELEASE)/simulate --every-flaw --seeds 3000

# Of the debug build: the pages are the same.
manual-check: built
	@echo "Checking the manual pages: no two entries of a page may have the same text"
	@$(call manual,$(STRICT),debug)
	@awk -f scripts/manual.awk $(MANUAL)/juice*.1 > .build/manual.txt

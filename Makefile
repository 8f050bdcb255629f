# Two commands do everything: `make demo` shows the service at work, `make test` runs every check of CI. `make check` is the part of
# it that takes less than a minute, to run while you work.
# Each first installs what is missing (librdkafka) and says so.

SHELL := /bin/bash
SWIFT ?= swift
# Arguments for the command that a target runs, for example: make demo ARGS="--orders 2000"
ARGS ?=
# For `make simulate`: the number of runs, or the one run to replay step by step, and the flaw to put into the engine.
SEEDS ?= 10000
SEED ?=
FLAW ?=
CONFIGURATION := release
# The flags of every debug build. With different flags, builds would invalidate each other.
STRICT := -Xswiftc -warnings-as-errors
DEBUG := .build/debug
LAB := .build/$(CONFIGURATION)/lab
FIRST_BUILD := The first build takes about five minutes on two cores, most of it for dependencies; later ones take seconds. [done/all] shows the progress.
# Tests that only compute. They run separately: on Swift's few threads they would block the services of other tests, which mostly
# wait.
UNIT := CoreTests\.
# The versions of librdkafka that `make compat` tries: those of Debian 12, Ubuntu 24.04 and Debian 13, and the newest of all.
VERSIONS ?= 2.0.2 2.3.0 2.8.0 newest
# The tests that `make test-browser` runs; all by default.
TESTS ?=
# For `make fuzz`: the decoder to feed, and the number of inputs.
FUZZ ?= commands
RUNS ?= 1000000
# For `make torture` and `make bench`: the broker, or several with commas. For `make torture` also: the number of rounds, a command
# that restarts the broker, and one that stops, kills and starts one of several (run as `BROKER_COMMAND stop 2`). NETWORK=1 also
# holds back, cuts, delays and repeats single requests. The service then connects through a proxy in the torture's process: the
# proxy gives each broker a port on 127.0.0.1, and rewrites the brokers' answers to name these ports. The brokers need no setup;
# their connections must be plain.
BOOTSTRAP ?=
ROUNDS ?= 100
BROKER_RESTART ?=
BROKER_COMMAND ?=
NETWORK ?=
export BROKER_RESTART BROKER_COMMAND
# The modules that other packages can use, each after the modules that it imports.
DOCUMENTED := Kafka JuiceDomain JuiceMessages
# Where `make install` puts files.
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: help demo check test tools debug-build built unit-tests seeds tests lab cost flaws compat another-cluster contract other-brokers deploy-check dashboard test-browser screenshots simulate model fuzz torture rolling soak sanitize bench \
	licenses sbom requirements microbench instructions build lint format setup docs install manual-check clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-15s %s\n", $$1, $$2 }'

# A debug build: it takes half the time, and `make test` reuses it.
demo: setup ## Watch orders become juice: embedded broker, service and simulated shops (ARGS="--orders 2000")
	@[ -e $(DEBUG)/juice ] || echo "$(FIRST_BUILD)"
	@echo "Building juice"
	@$(SWIFT) build --product juice $(STRICT)
	@exec $(DEBUG)/juice demo $(ARGS)

build: setup ## Build the juice command
	@[ -e .build/$(CONFIGURATION)/juice ] || echo "$(FIRST_BUILD)"
	@echo "Building juice ($(CONFIGURATION))"
	@$(SWIFT) build -c $(CONFIGURATION) --product juice

check: setup ## Quick checks while you work, under a minute once built: format, debug build, unit and engine tests, 200 seeds
	@./scripts/stages.sh lint debug-build seeds,unit-tests

# Targets that mostly wait run beside targets that mostly compute, and never two that SwiftPM would serialize.
test: setup ## Everything CI checks: format, build without warnings, all tests
	@./scripts/stages.sh lint debug-build,tools manual-check unit-tests tests,deploy-check cost,test-browser,contract,other-brokers,docs flaws
	@[ -n "$$KAFKA_BOOTSTRAP_SERVERS" ] || echo "Skipped: tests on a real broker. To run them: KAFKA_BOOTSTRAP_SERVERS=host:port make test"

# Installs everything first: two targets that install side by side would fail on the package manager's lock.
tools: .build/venv/ready
	@./scripts/setup.sh kcat browser systemd-analyze valgrind
	@./scripts/setup-prometheus.sh > /dev/null

# All debug products in one build: building them one by one would rebuild shared parts.
debug-build: setup
	@[ -e $(DEBUG)/juice ] || echo "$(FIRST_BUILD)"
	@echo "Building with warnings as errors"
	@$(SWIFT) build --build-tests $(STRICT)

# The same, for targets that are run alone. In `make test` it is already a stage of its own.
built:
	@[ -n "$$IN_STAGES" ] || $(MAKE) --no-print-directory debug-build

unit-tests: built
	@./scripts/watch_tests.py $(SWIFT) test --skip-build $(STRICT) --filter '$(UNIT)'

seeds: built
	@$(DEBUG)/simulate --seeds 200

# Tests on a real broker come last: beside the others, the broker would wait for the processor, and they would take it for an outage.
tests: built
	@env -u KAFKA_BOOTSTRAP_SERVERS ./scripts/watch_tests.py $(SWIFT) test --skip-build $(STRICT) --skip '$(UNIT)'
	@[ -z "$$KAFKA_BOOTSTRAP_SERVERS" ] || ./scripts/watch_tests.py $(SWIFT) test --skip-build $(STRICT) --filter RealBroker

# Torture, benchmark, soak and simulation in a release build; of these and their dependencies alone.
lab: setup
	@echo "Building lab and simulate ($(CONFIGURATION))"
	@$(SWIFT) build -c $(CONFIGURATION) --product lab
	@$(SWIFT) build -c $(CONFIGURATION) --product simulate

# Only optimised code counts.
cost: lab
	@./scripts/setup.sh valgrind
	@echo "Counting an order's heap allocations: there must be none"
	@$(LAB) bench heap --orders 200000 --check
	@echo "Counting an order's instructions: not 3 % more than before"
	@./scripts/instructions.sh --check $(LAB) engine

# Optimised code simulates some forty times as fast.
flaws: lab
	@echo "Simulating the engine, and each flaw in it, which must be found"
	@$(dir $(LAB))simulate --seeds 2000
	@$(dir $(LAB))simulate --every-flaw --seeds 3000

compat: build lab built .build/venv/ready ## Run demo, tests and a short torture on several versions of librdkafka (VERSIONS="2.3.0 2.8.0" BOOTSTRAP=host:port, of Kafka 3.9 and 4 in turn)
	@BOOTSTRAP="$(BOOTSTRAP)" ROUNDS=$(if $(filter file,$(origin ROUNDS)),5,$(ROUNDS)) ./scripts/compat.sh \
		.build/venv/bin/python .build/release $(VERSIONS)

another-cluster: build .build/venv/ready ## Copy the topics of a cluster to another, lose the first, go on in the second (FIRST=host:port SECOND=host:port KILL='command')
	@FIRST="$(FIRST)" SECOND="$(SECOND)" KILL="$(KILL)" ./scripts/another-cluster.sh .build/venv/bin/python .build/release/juice

contract: built .build/venv/ready ## Check the schemas against thousands of messages, and run the examples for integrators
	@./scripts/setup.sh kcat
	@echo "Checking docs/asyncapi.yaml and docs/schemas against the service's messages, and the examples"
	@set -o pipefail; $(DEBUG)/lab fixtures contract-samples Tools/Fuzz/Corpus/commands | .build/venv/bin/python Tests/contract/check.py
	@PYTHONDONTWRITEBYTECODE=1 .build/venv/bin/python Tests/contract/examples.py $(DEBUG)

other-brokers: built .build/venv/ready ## Check that the service begins no journal on a broker that shows aborted records (Tansu)
	@echo "Trying a broker that is not Apache Kafka"
	@PYTHONDONTWRITEBYTECODE=1 .build/venv/bin/python Tests/contract/other_brokers.py $(DEBUG)/juice

deploy-check: built .build/venv/ready ## Check deploy/ and docs/METRICS.md: a real Prometheus scrapes the service
	@./scripts/setup.sh systemd-analyze
	@echo "Checking deploy/ against the service and Prometheus"
	@tools="$$(./scripts/setup-prometheus.sh)" && PYTHONDONTWRITEBYTECODE=1 .build/venv/bin/python \
		Tests/deploy/check.py $(DEBUG)/juice "$$tools" $(ARGS)

dashboard: ## Write the Grafana dashboard from the table in scripts/grafana.py
	@scripts/grafana.py

test-browser: built .build/venv/ready ## Drive the kiosk's page in headless Chromium (TESTS="test_orders test_page")
	@./scripts/setup.sh browser
	@echo "Driving the kiosk's page in headless Chromium"
	@PYTHONDONTWRITEBYTECODE=1 .build/venv/bin/python Tests/browser/run.py $(DEBUG) $(TESTS)

screenshots: build .build/venv/ready ## Retake the README's pictures of the kiosk
	@./scripts/setup.sh browser
	@PYTHONDONTWRITEBYTECODE=1 .build/venv/bin/python Tests/browser/screenshots.py \
		"$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)" docs/images

licenses: setup ## Write docs/LICENSES.md: the licenses of what is linked into the juice command
	@$(MAKE) --no-print-directory built
	@./scripts/components.py licenses $(DEBUG)

sbom: build ## List the components of the juice command, in CycloneDX JSON: .build/sbom.cdx.json
	@./scripts/components.py sbom "$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)" > .build/sbom.cdx.json
	@echo "Wrote .build/sbom.cdx.json"

# Python packages in a virtual environment, which is recreated when the requirements change.
.build/venv/ready: Tests/requirements.txt
	@./scripts/setup.sh python
	@echo "Installing the Python packages of $<"
	@rm -rf $(@D) && python3 -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# requirements.in lists the packages that are needed; requirements.txt adds their dependencies and all hashes.
requirements: .build/venv/ready ## Rewrite Tests/requirements.txt from Tests/requirements.in, with the newest of what these need
	@.build/venv/bin/uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes --no-annotate \
		--custom-compile-command "make requirements" Tests/requirements.in -o Tests/requirements.txt

simulate: setup ## Run the engine in simulated clusters that fail in every way (SEEDS=100000, or SEED=7 for one with a trace)
	@$(SWIFT) build -c release --product simulate
	@exec "$$($(SWIFT) build -c release --show-bin-path)/simulate" \
		$(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) $(if $(FLAW),--flaw $(FLAW))

model: ## Check the journal's protocol in every order of events, and that each of its rules is needed (RULE=NAME prints a counterexample)
	@Tools/model/check.sh $(RULE)

torture: setup ## Kill, freeze and crowd the service on a real broker, and audit its answers (BOOTSTRAP=host:port; NETWORK=1 adds late and lost requests, through a proxy)
	@[ -n "$(BOOTSTRAP)" ] || { echo "Name a broker: make torture BOOTSTRAP=host:port[,host:port...] [ROUNDS=100] [NETWORK=1] [BROKER_RESTART='command'] [BROKER_COMMAND='command'] [ARGS='--rate 200']"; exit 64; }
	@$(MAKE) --no-print-directory build lab
	@exec $(LAB) torture --bootstrap-servers "$(BOOTSTRAP)" \
		--rounds $(ROUNDS) $(if $(NETWORK),--network) $${BROKER_RESTART:+--broker-restart "$$BROKER_RESTART"} \
		$${BROKER_COMMAND:+--broker-command "$$BROKER_COMMAND"} $(ARGS)

rolling: setup ## Restart three instances in turn and add a fourth, under load on real brokers (BOOTSTRAP=host:port[,…]); BROKER_COMMAND also stops and kills each broker
	@$(MAKE) --no-print-directory torture BOOTSTRAP="$(BOOTSTRAP)" ARGS="--rolling $(ARGS)"

fuzz: setup ## Feed random inputs to the decoders (RUNS=10000000 FUZZ=commands|answers|stock)
	@echo "Building the fuzzer with libFuzzer and AddressSanitizer; the first time takes a few minutes"
	@$(SWIFT) build -c release --package-path Tools/Fuzz --scratch-path .build/fuzz --sanitize fuzzer \
		-Xswiftc -sanitize=fuzzer,address -Xcc -fsanitize=address
	@mkdir -p .build/fuzz/corpus/$(FUZZ) .build/fuzz/crashes
	@echo "Trying $(RUNS) inputs as $(FUZZ); one that fails is kept in .build/fuzz/crashes"
	@FUZZ=$(FUZZ) .build/fuzz/release/fuzz -runs=$(RUNS) -max_len=512 -timeout=5 -print_final_stats=1 \
		-dict=Tools/Fuzz/tokens.dict -artifact_prefix=.build/fuzz/crashes/ \
		.build/fuzz/corpus/$(FUZZ) Tools/Fuzz/Corpus/$(FUZZ)

soak: setup ## Run 10,000 transactions and 100 rebalances: memory and threads must not grow (about 2 minutes)
	@$(MAKE) --no-print-directory built
	@$(DEBUG)/lab soak

bench: build ## Measure the service against a bare loop in C on a real broker (BOOTSTRAP=host:port; about 6 minutes)
	@[ -n "$(BOOTSTRAP)" ] || { echo "Name a broker: make bench BOOTSTRAP=host:port"; exit 64; }
	@$(MAKE) --no-print-directory lab
	@$(LAB) bench core && \
		for what in end-to-end "latency --rate 100" "latency --rate 1000" restore repeats; do \
			echo && $(LAB) bench $$what --bootstrap-servers "$(BOOTSTRAP)" || exit $$?; \
		done

microbench: lab ## Measure each piece of an order's work without Kafka: heap allocations and nanoseconds
	@$(LAB) bench heap $(ARGS) && echo && $(LAB) bench core $(ARGS)

instructions: lab ## The same in instructions, counted by valgrind, and keep them for `make test` (Linux; about 3 minutes)
	@./scripts/setup.sh valgrind
	@./scripts/instructions.sh $(LAB)

# Each sanitizer has its own build. ThreadSanitizer has to learn of librdkafka's threads and Swift's Mutex: see c11threads.c. It does not report
# leaked threads, because a worker that hangs in librdkafka is left behind on purpose when the service stops.
# Only the tests of modules that meet librdkafka's threads or bare memory run.
SANITIZED := --testing-library swift-testing --filter 'CoreTests|BrokerTests'
sanitize: setup ## Run the tests of core and brokers with thread and address sanitizer, the soak with leak sanitizer (Linux; about 20 minutes)
	@echo "ThreadSanitizer on the tests"
	@$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build/tsan
	@clang -O1 -Wall -Werror -shared -fPIC -o .build/tsan/c11threads.so Tools/sanitize/c11threads.c
	@LD_PRELOAD="$(CURDIR)/.build/tsan/c11threads.so" TSAN_OPTIONS=report_thread_leaks=0 \
		.build/tsan/debug/juice-makerPackageTests.xctest $(SANITIZED)
	@echo "AddressSanitizer on the tests"
	@$(SWIFT) build --build-tests --sanitize=address --scratch-path .build/asan
	@ASAN_OPTIONS=detect_leaks=0 .build/asan/debug/juice-makerPackageTests.xctest $(SANITIZED)
	@echo "LeakSanitizer on the soak"
	@ASAN_OPTIONS=detect_leaks=1 .build/asan/debug/lab soak

lint: setup ## Check the layout of the source files, and the house rules that a machine can see
	@./scripts/setup.sh python
	@echo "Checking the format and the house rules"
	@$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tools Tests Examples
	@python3 -m doctest scripts/house_rules.py scripts/watch_tests.py
	@python3 scripts/house_rules.py

format: setup ## Format the source files
	@$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tools Tests Examples

setup: ## Install librdkafka if it is missing
	@./scripts/setup.sh

docs: built ## Build the API documentation of the modules that other packages can use into .build/docs; a warning is an error
	@./scripts/docs.sh $(DEBUG) $(DOCUMENTED) > .build/docs.log 2>&1 || { cat .build/docs.log; exit 1; }
	@echo "Built the API documentation in .build/docs"

# The manual pages: flags of the build, configuration.
manual = $(SWIFT) package $(1) --allow-writing-to-package-directory generate-manual --configuration $(2) --multi-page \
	> .build/manual.log 2>&1 || { cat .build/manual.log; exit 1; }

install: build ## Install the command, its manual pages and completions under PREFIX (/usr/local), in DESTDIR if given
	@$(call manual,,$(CONFIGURATION))
	@./scripts/install.sh "$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)/juice" \
		.build/plugins/GenerateManual/outputs/juice "$(DESTDIR)$(PREFIX)"

# Of the debug build: the pages are the same.
manual-check: built
	@echo "Checking the manual pages: no two entries of a page may have the same text"
	@$(call manual,$(STRICT),debug)
	@awk -f scripts/manual.awk .build/plugins/GenerateManual/outputs/juice/juice*.1 > .build/manual.txt

clean: ## Remove build results
	@rm -rf .build

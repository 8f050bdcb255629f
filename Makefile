# Two commands do everything: `make demo` shows the service at work, `make test` checks what CI checks. `make check` is for while
# one works: the part of it that takes less than a minute.
# Each installs what is missing first (librdkafka) and says so.

SHELL := /bin/bash
SWIFT ?= swift
# What `make demo` passes on, for example: make demo ARGS="--orders 2000"
ARGS ?=
# How many runs `make simulate` makes, or the one to replay step by step, and what to break in the engine before.
SEEDS ?= 10000
SEED ?=
FLAW ?=
CONFIGURATION := release
# The flags of every debug build. Builds with other flags would undo each other's work.
STRICT := -Xswiftc -warnings-as-errors
DEBUG := .build/debug
FIRST_BUILD := The first build takes some minutes: 50 modules, most of them dependencies; later ones take seconds. [done/all] tells how far it is.
# Tests that compute and wait for nothing. They run by themselves: on Swift's few threads they would keep services, which wait much,
# from going on. The simulation has a thread of its own.
UNIT := JuiceMakerTests|JuiceMessagesTests|JuiceAuditTests|JuiceEngineTests\.(?!SimulationTests)|JuiceRestockBotTests|PrometheusMetricsTests|tortureTests
# The versions of librdkafka that `make compat` tries: those of Debian 12, Ubuntu 24.04 and Debian 13, and the newest of all.
VERSIONS ?= 2.0.2 2.3.0 2.8.0 newest
# Which of its tests `make test-browser` runs; all where none is named.
TESTS ?=
# What `make fuzz` takes its inputs for, and how many it tries.
FUZZ ?= commands
RUNS ?= 1000000
# What `make torture` and `make bench` are told: where the broker is, or several with commas. The former also: how many bad things
# to do, how to restart the broker, how to stop, kill and start one of several (run as `BROKER_COMMAND stop 2`), and with
# NETWORK=1 to hold back, cut, delay and repeat single requests besides. For that the service is led through a proxy in the
# torture's own process: each broker gets a port of the proxy's on 127.0.0.1, and the brokers' answers are rewritten to name
# those. Nothing has to be set up at the brokers; their connections must be plain.
BOOTSTRAP ?=
ROUNDS ?= 100
BROKER_RESTART ?=
BROKER_COMMAND ?=
NETWORK ?=
export BROKER_RESTART BROKER_COMMAND
# The modules whose API is documented, each after those that it imports.
DOCUMENTED := Kafka JuiceMaker JuiceMessages JuiceEngine JuiceService JuiceRestockBot PrometheusMetrics JuiceHTTP JuiceKiosk
# Where `make install` puts things.
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: help demo check test tools debug-build built unit-tests seeds tests heap compat contract deploy-check test-browser screenshots simulate fuzz torture rolling soak sanitize bench \
	licenses sbom requirements microbench instructions build lint format setup docs install clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-14s %s\n", $$1, $$2 }'

# Not optimised: that builds in half the time, and `make test` goes on from there.
demo: setup ## Watch orders become juice: embedded broker, service and simulated shops (ARGS="--orders 2000")
	@[ -e $(DEBUG)/juice ] || echo "$(FIRST_BUILD)"
	@echo "Building juice"
	@$(SWIFT) build --product juice $(STRICT)
	@exec $(DEBUG)/juice demo $(ARGS)

build: setup ## Build the juice command
	@[ -e .build/$(CONFIGURATION)/juice ] || echo "$(FIRST_BUILD)"
	@echo "Building juice ($(CONFIGURATION))"
	@$(SWIFT) build -c $(CONFIGURATION) --product juice

check: setup ## What to run while working, less than a minute once built: format, debug build, unit and engine tests, 200 seeds
	@./scripts/stages.sh lint debug-build unit-tests seeds

# Side by side runs what waits much with what computes much, and never two that SwiftPM would run one after the other.
test: setup ## Everything CI checks: format, build without warnings, all tests
	@./scripts/stages.sh lint debug-build,tools unit-tests tests,deploy-check heap,test-browser,contract,docs
	@[ -n "$$KAFKA_BOOTSTRAP_SERVERS" ] || echo "Skipped: tests on a real broker. To run them: KAFKA_BOOTSTRAP_SERVERS=host:port make test"

# All of it, before anything that would install it runs side by side: two installations meet the package manager's lock.
tools: .build/contract-venv/ready .build/deploy-venv/ready .build/browser-venv/ready
	@./scripts/setup.sh kcat browser
	@./scripts/setup-prometheus.sh > /dev/null

# Everything that is not optimised, in one build: products built one by one need other parts of it built anew.
debug-build: setup
	@echo "Building with warnings as errors"
	@$(SWIFT) build --build-tests $(STRICT)

# As above, for targets that are made by themselves. Before the stages of `make test` it is one of these.
built:
	@[ -n "$$IN_STAGES" ] || $(MAKE) --no-print-directory debug-build

unit-tests: built
	@$(SWIFT) test --skip-build $(STRICT) --filter '$(UNIT)'

seeds: built
	@$(DEBUG)/simulate --seeds 200

tests: built
	@$(SWIFT) test --skip-build $(STRICT) --skip '$(UNIT)'

# What the optimiser takes from the heap is what counts, so this is a release build, of that program and what it needs alone.
heap: setup
	@echo "Counting the memory that an order takes from the heap: none"
	@$(SWIFT) build -c release --product microbench
	@.build/release/microbench --orders 200000 --check

compat: build built .build/contract-venv/ready ## Run demo, tests and a short torture on several versions of librdkafka (VERSIONS="2.3.0 2.8.0" BOOTSTRAP=host:port)
	@$(SWIFT) build -c release --product torture
	@BOOTSTRAP="$(BOOTSTRAP)" ROUNDS=$(if $(filter command line,$(origin ROUNDS)),$(ROUNDS),5) ./scripts/compat.sh \
		.build/contract-venv/bin/python .build/release $(VERSIONS)

contract: built .build/contract-venv/ready ## Check the schemas against thousands of messages, and the examples for integrators
	@./scripts/setup.sh kcat
	@echo "Checking docs/asyncapi.yaml and docs/schemas against what the service takes and writes, and the examples"
	@set -o pipefail; $(DEBUG)/contract-samples | .build/contract-venv/bin/python Tests/contract/check.py
	@PYTHONDONTWRITEBYTECODE=1 .build/contract-venv/bin/python Tests/contract/examples.py $(DEBUG)

deploy-check: built .build/deploy-venv/ready ## Check deploy/ and docs/METRICS.md: a real Prometheus scrapes the service
	@./scripts/setup.sh
	@echo "Checking deploy/ against the service and Prometheus"
	@tools="$$(./scripts/setup-prometheus.sh)" && PYTHONDONTWRITEBYTECODE=1 .build/deploy-venv/bin/python \
		Tests/deploy/check.py $(DEBUG)/juice "$$tools" $(ARGS)

test-browser: built .build/browser-venv/ready ## Drive the kiosk's page in headless Chromium (TESTS="test_orders test_page")
	@./scripts/setup.sh browser
	@echo "Driving the kiosk's page in headless Chromium"
	@PYTHONDONTWRITEBYTECODE=1 .build/browser-venv/bin/python Tests/browser/run.py $(DEBUG) $(TESTS)

screenshots: build .build/browser-venv/ready ## Make the README's pictures of the kiosk anew
	@./scripts/setup.sh browser
	@PYTHONDONTWRITEBYTECODE=1 .build/browser-venv/bin/python Tests/browser/screenshots.py \
		"$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)" docs/images

licenses: setup ## Write docs/LICENSES.md: the licenses of what is linked into the juice command
	@$(MAKE) --no-print-directory built
	@./scripts/components.py licenses $(DEBUG)

sbom: build ## List what the juice command is made of, in CycloneDX JSON: .build/sbom.cdx.json
	@./scripts/components.py sbom "$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)" > .build/sbom.cdx.json
	@echo "Wrote .build/sbom.cdx.json"

# Python packages in an environment of their own, which is made anew when others are asked for.
.build/%-venv/ready: Tests/%/requirements.txt
	@./scripts/setup.sh python
	@echo "Installing the Python packages of $<"
	@rm -rf $(@D) && python3 -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# Which packages are wanted is in requirements.in; requirements.txt has all that these bring along, too, and the hashes of each.
requirements: .build/lock-venv/ready ## Write Tests/*/requirements.txt anew from the requirements.in beside them
	@for list in Tests/*/requirements.in; do \
		(cd "$$(dirname $$list)" && "$(CURDIR)/.build/lock-venv/bin/uv" pip compile --quiet --universal --python-version 3.11 \
			--upgrade --generate-hashes --no-annotate --custom-compile-command "make requirements" requirements.in \
			-o requirements.txt) || exit $$?; \
	done

simulate: setup ## Run the engine in simulated clusters that fail in every way (SEEDS=100000, or SEED=7 for one with a trace)
	@$(SWIFT) build -c release --product simulate
	@exec "$$($(SWIFT) build -c release --show-bin-path)/simulate" \
		$(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) $(if $(FLAW),--flaw $(FLAW))

torture: setup ## Kill, freeze and crowd the service on a real broker, and audit its answers (BOOTSTRAP=host:port; NETWORK=1 for late and lost requests too: each broker gets a port of a proxy, and the answers name those)
	@[ -n "$(BOOTSTRAP)" ] || { echo "Name a broker: make torture BOOTSTRAP=host:port[,host:port...] [ROUNDS=100] [NETWORK=1] [BROKER_RESTART='command'] [BROKER_COMMAND='command'] [ARGS='--rate 200']"; exit 64; }
	@echo "Building juice and torture ($(CONFIGURATION)); the first time takes a few minutes"
	@$(SWIFT) build -c $(CONFIGURATION) --product juice
	@$(SWIFT) build -c $(CONFIGURATION) --product torture
	@exec "$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)/torture" --bootstrap-servers "$(BOOTSTRAP)" \
		--rounds $(ROUNDS) $(if $(NETWORK),--network) $${BROKER_RESTART:+--broker-restart "$$BROKER_RESTART"} \
		$${BROKER_COMMAND:+--broker-command "$$BROKER_COMMAND"} $(ARGS)

rolling: setup ## Restart three instances in turn and add a fourth, under load on real brokers (BOOTSTRAP=host:port[,…]); with BROKER_COMMAND also stop and kill each broker
	@$(MAKE) --no-print-directory torture BOOTSTRAP="$(BOOTSTRAP)" ARGS="--rolling $(ARGS)"

fuzz: setup ## Try random inputs on the decoders (RUNS=10000000 FUZZ=commands|answers|stock)
	@echo "Building the fuzzer with libFuzzer and AddressSanitizer; the first time takes a few minutes"
	@$(SWIFT) build -c release --package-path Fuzz --scratch-path .build/fuzz --sanitize fuzzer \
		-Xswiftc -sanitize=fuzzer,address -Xcc -fsanitize=address
	@mkdir -p .build/fuzz/corpus/$(FUZZ) .build/fuzz/crashes
	@echo "Trying $(RUNS) inputs as $(FUZZ); one that fails is kept in .build/fuzz/crashes"
	@FUZZ=$(FUZZ) .build/fuzz/release/fuzz -runs=$(RUNS) -max_len=512 -timeout=5 -print_final_stats=1 \
		-dict=Fuzz/tokens.dict -artifact_prefix=.build/fuzz/crashes/ \
		.build/fuzz/corpus/$(FUZZ) Tests/JuiceMessagesTests/Corpus/$(FUZZ)

soak: setup ## 10,000 transactions and 100 rebalances: memory and threads must stay as they are (about 2 minutes)
	@$(MAKE) --no-print-directory built
	@$(DEBUG)/soak

bench: build ## Measure the service beside a bare copy in C on a real broker (BOOTSTRAP=host:port; about 5 minutes)
	@[ -n "$(BOOTSTRAP)" ] || { echo "Name a broker: make bench BOOTSTRAP=host:port"; exit 64; }
	@juice="$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)/juice" && $$juice bench core && \
		for what in end-to-end "latency --rate 100" "latency --rate 1000" restore; do \
			echo && $$juice bench $$what --bootstrap-servers "$(BOOTSTRAP)" || exit $$?; \
		done

microbench: setup ## What each piece of an order's work costs without Kafka: memory requests and nanoseconds
	@$(SWIFT) build -c release --product microbench
	@"$$($(SWIFT) build -c release --show-bin-path)/microbench" $(ARGS)

instructions: setup ## The same in instructions, counted by valgrind (Linux; about 3 minutes)
	@$(SWIFT) build -c release --product microbench
	@./scripts/instructions.sh "$$($(SWIFT) build -c release --show-bin-path)/microbench"

# Each sanitizer has a build of its own. ThreadSanitizer must be told of librdkafka's threads: see c11threads.c. It is not
# asked about threads that never end: a worker that hangs in librdkafka is left behind on purpose when the service stops.
# The engine's tests are left out: it has no threads, and its simulation would take very long.
SANITIZED := --testing-library swift-testing --filter 'KafkaTests|JuiceServiceTests|JuiceMessagesTests'
sanitize: setup ## Thread and address sanitizer on the tests, leak sanitizer on the soak (Linux; about 20 minutes)
	@echo "ThreadSanitizer on the tests"
	@$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build/tsan
	@clang -O1 -Wall -Werror -shared -fPIC -o .build/tsan/c11threads.so Tools/sanitize/c11threads.c
	@LD_PRELOAD="$(CURDIR)/.build/tsan/c11threads.so" TSAN_OPTIONS=report_thread_leaks=0 \
		.build/tsan/debug/juice-makerPackageTests.xctest $(SANITIZED)
	@echo "AddressSanitizer on the tests"
	@$(SWIFT) build --build-tests --sanitize=address --scratch-path .build/asan
	@ASAN_OPTIONS=detect_leaks=0 .build/asan/debug/juice-makerPackageTests.xctest $(SANITIZED)
	@echo "LeakSanitizer on the soak"
	@ASAN_OPTIONS=detect_leaks=1 .build/asan/debug/soak

lint: setup ## Check the layout of the source files
	@echo "Checking the format"
	@$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tools Tests Examples Fuzz

format: setup ## Lay out the source files
	@$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tools Tests Examples Fuzz

setup: ## Install librdkafka where it is missing
	@./scripts/setup.sh

docs: built ## Build the API documentation of all modules into .build/docs; a warning is an error
	@./scripts/docs.sh $(DEBUG) $(DOCUMENTED) > .build/docs.log 2>&1 || { cat .build/docs.log; exit 1; }
	@echo "Built the API documentation in .build/docs"

install: build ## Install the command, its manual pages and completions under PREFIX (/usr/local), in DESTDIR if given
	@$(SWIFT) package --allow-writing-to-package-directory generate-manual --configuration $(CONFIGURATION) --multi-page \
		> .build/manual.log 2>&1 || { cat .build/manual.log; exit 1; }
	@./scripts/install.sh "$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)/juice" \
		.build/plugins/GenerateManual/outputs/juice "$(DESTDIR)$(PREFIX)"

clean: ## Remove what was built
	@rm -rf .build

# Two commands do everything: `make demo` shows the service at work, `make test` runs every check of CI. `make check` is the part of
# it that takes less than a minute, to run while you work. Each first installs what is missing (librdkafka, test tools) and says so.
# What is set on make's command line is in the environment of scripts, too.

include scripts/ci.mk

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-15s %s\n", $$1, $$2 }'

# A debug build: it takes half the time, and `make test` reuses it.
demo: setup ## Watch orders become juice: embedded broker, service and simulated shops (ARGS="--orders 2000")
	@$(call building,juice,$(DEBUG))
	@$(SWIFT) build --product juice $(STRICT)
	@exec $(DEBUG)/juice demo $(ARGS)
build: setup ## Build the juice command
	@$(call building,juice (release),$(RELEASE))
	@$(SWIFT) build -c release --product juice

check: setup ## Quick checks while you work, under a minute once built: format, debug build, unit and engine tests, 200 seeds
	@./scripts/stages.sh lint debug-build seeds,unit-tests

# Targets that wait run beside targets that compute. SwiftPM serializes manual-check and unit-tests; nothing else may run beside
# manual-check, which may link the program anew.
test: setup ## Everything CI checks: format, build without warnings, all tests
	@./scripts/stages.sh lint debug-build,tools unit-tests,manual-check tests,deploy-check optimised,test-browser,contract,other-brokers,docs
	@[ -n "$$KAFKA_BOOTSTRAP_SERVERS" ] || echo "Skipped: tests on a real broker. To run them: KAFKA_BOOTSTRAP_SERVERS=host:port make test"

# By default the versions of Debian 12, Ubuntu 24.04 and Debian 13, and the newest of all.
compat: build lab built $(VENV) ## Run demo, tests and a short torture on several versions of librdkafka (VERSIONS="2.3.0 2.8.0" BOOTSTRAP=host:port, of Kafka 3.9 and 4 in turn)
	@./scripts/compat.sh $(PYTHON) $(RELEASE) $(or $(VERSIONS),2.0.2 2.3.0 2.8.0 newest)
another-cluster: build $(VENV) ## Copy the topics of a cluster to another, lose the first, go on in the second (FIRST=host:port SECOND=host:port KILL='command')
	@./scripts/another-cluster.sh $(PYTHON) $(RELEASE)/juice

contract: built $(VENV) needs-kcat ## Check the schemas against thousands of messages, and run the examples for integrators
	@echo "Checking docs/asyncapi.yaml and docs/schemas against the service's messages, and the examples"
	@set -o pipefail; $(DEBUG)/lab fixtures contract-samples | $(PYTHON) Tests/contract/check.py
	@$(PYTHON) Tests/contract/examples.py $(DEBUG)
other-brokers: built $(VENV) ## Check that the service begins no journal on a broker that shows aborted records (Tansu)
	@echo "Trying a broker that is not Apache Kafka"
	@$(PYTHON) Tests/contract/other_brokers.py $(DEBUG)/juice

CLIENTS := --with confluent-kafka==2.16.1 --with 'faststream[confluent]==0.7.8'
clients: broker $(VENV) needs-kcat ## Check what docs/INTEGRATION.md says of other clients on a real broker (BOOTSTRAP=host:port; share consumers need Kafka 4)
	@$(dir $(PYTHON))uv run --quiet --no-project --python 3.11 $(CLIENTS) Tests/contract/clients.py $(BOOTSTRAP)

deploy-check: built $(VENV) needs-systemd-analyze ## Check deploy/ and docs/METRICS.md: a real Prometheus scrapes the service
	@echo "Checking deploy/ against the service and Prometheus"
	@tools="$$(./scripts/setup-prometheus.sh)" && $(PYTHON) Tests/deploy/check.py $(DEBUG)/juice "$$tools" $(ARGS)
dashboard: ## Write the Grafana dashboard from the table in scripts/grafana.py
	@./scripts/grafana.py

test-browser: built $(VENV) needs-browser ## Drive the kiosk's page in headless Chromium (TESTS="test_orders test_page")
	@echo "Driving the kiosk's page in headless Chromium"
	@$(PYTHON) Tests/browser/run.py $(DEBUG) $(TESTS)
screenshots: build $(VENV) needs-browser ## Retake the README's pictures of the kiosk
	@$(PYTHON) Tests/browser/screenshots.py $(RELEASE) docs/images

licenses: built ## Write docs/LICENSES.md: the licenses of what is linked into the juice command
	@./scripts/components.py licenses $(DEBUG)
sbom: build ## List the components of the juice command, in CycloneDX JSON: .build/sbom.cdx.json
	@./scripts/components.py sbom $(RELEASE) > .build/sbom.cdx.json
	@echo "Wrote .build/sbom.cdx.json"
requirements: $(VENV) ## Rewrite Tests/requirements.txt from Tests/requirements.in, with the newest of what these need
	@$(dir $(PYTHON))uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes --no-annotate \
		--custom-compile-command "make requirements" Tests/requirements.in -o Tests/requirements.txt

simulate: setup ## Run the engine in simulated clusters that fail in every way (SEEDS=100000, or SEED=7 for one with a trace; FLAW=name)
	@$(SWIFT) build -c release --product simulate
	@exec $(RELEASE)/simulate $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),10000)) $(if $(FLAW),--flaw $(FLAW))
model: ## Check the journal's protocol in every order of events, and that each of its rules is needed (RULE=NAME prints a counterexample)
	@Tools/model/check.sh $(RULE)

# BROKER_RESTART restarts the broker; BROKER_COMMAND stops, kills and starts one of several (run as `BROKER_COMMAND stop 2`).
# With NETWORK=1 the service connects through a proxy in the torture's process. It gives each broker a port on 127.0.0.1 and rewrites
# the brokers' answers to name these ports. The brokers need no setup; their connections must be plain.
torture: MORE = [,host:port...] [ROUNDS=100] [NETWORK=1] [BROKER_RESTART='command'] [BROKER_COMMAND='command'] [ARGS='--rate 200']
torture: broker build lab ## Kill, freeze and crowd the service on a real broker, and audit its answers (BOOTSTRAP=host:port; NETWORK=1 adds late and lost requests, through a proxy)
	@exec $(LAB) torture --bootstrap-servers "$(BOOTSTRAP)" --rounds $(or $(ROUNDS),100) $(if $(NETWORK),--network) \
		$${BROKER_RESTART:+--broker-restart "$$BROKER_RESTART"} $${BROKER_COMMAND:+--broker-command "$$BROKER_COMMAND"} $(ARGS)
rolling: override ARGS := --rolling $(ARGS)
rolling: torture ## Restart three instances in turn and add a fourth, under load on real brokers (BOOTSTRAP=host:port[,…]); BROKER_COMMAND also stops and kills each broker

fuzz: setup ## Feed random inputs to the decoders (RUNS=10000000 FUZZ=commands|answers|stock)
	@./scripts/fuzz.sh $(or $(FUZZ),commands) $(or $(RUNS),1000000)
soak: built ## Run 10,000 transactions and 100 rebalances: memory and threads must not grow (about 2 minutes)
	@$(DEBUG)/lab soak

bench: broker build lab ## Measure the service against a bare loop in C on a real broker (BOOTSTRAP=host:port; about 6 minutes)
	@$(LAB) bench core && $(call measure,end-to-end $(LATENCY) restore repeats)
$(PEERS): Makefile | $(VENV)
	@$(dir $(PYTHON))uv venv --quiet --clear --python 3.11 $(@:/bin/python=)
	@$(dir $(PYTHON))uv pip install --quiet --python $@ confluent-kafka==2.12.2 orjson==3.13.0 quixstreams==3.28.1
peers: broker build lab $(PEERS) ## Measure the service beside programs in Python (BOOTSTRAP=host:port; ARGS="--peer NAME=COMMAND" adds others: Tools/peers/README.md)
	@$(call measure,end-to-end $(LATENCY),--peer "python=$(PEERS) Tools/peers/loop.py" --peer "quix=$(PEERS) Tools/peers/quix.py" $(ARGS))
microbench: lab ## Measure each piece of an order's work without Kafka: heap allocations and nanoseconds
	@$(LAB) bench heap $(ARGS) && echo && $(LAB) bench core $(ARGS)
instructions: lab needs-valgrind ## The same in instructions, counted by valgrind, and keep them for `make test` (Linux; about 3 minutes)
	@./scripts/instructions.sh $(LAB)
sanitize: setup ## Run the tests of core and brokers with thread and address sanitizer, the soak with leak sanitizer (Linux; about 20 minutes)
	@./scripts/sanitize.sh

lint: setup needs-python ## Check the layout of the source files, and the house rules that a machine can see
	@echo "Checking the format and the house rules"
	@$(SWIFT) format lint --strict $(SOURCES)
	@python3 -m doctest scripts/house_rules.py scripts/watch_tests.py
	@python3 scripts/house_rules.py
format: setup ## Format the source files
	@$(SWIFT) format --in-place $(SOURCES)
setup: ## Install librdkafka if it is missing
	@./scripts/setup.sh

docs: built ## Build the API documentation of the modules that other packages can use into .build/docs; a warning is an error
	@./scripts/docs.sh $(DEBUG) Kafka JuiceDomain JuiceMessages > .build/docs.log 2>&1 || { cat .build/docs.log; exit 1; }
	@echo "Built the API documentation in .build/docs"
PREFIX ?= /usr/local
install: build ## Install the command, its manual pages and completions under PREFIX (/usr/local), in DESTDIR if given
	@$(call manual,,release)
	@./scripts/install.sh $(RELEASE)/juice $(MANUAL) "$(DESTDIR)$(PREFIX)"
clean: ## Remove build results
	@rm -rf .build

# Two commands do everything: `make demo` shows the service at work, `make test` checks what CI checks.
# Each installs what is missing first (librdkafka and simdjson) and says so.

SHELL := /bin/bash
SWIFT ?= swift
# What `make demo` passes on, for example: make demo ARGS="--orders 2000"
ARGS ?=
# How many runs `make simulate` makes, or the one to replay step by step, and what to break in the engine before.
SEEDS ?= 10000
SEED ?=
FLAW ?=
CONFIGURATION := release

.PHONY: help demo test simulate build lint format check-format setup clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-14s %s\n", $$1, $$2 }'

demo: build ## Watch orders become juice: embedded broker, service and simulated shops (ARGS="--orders 2000")
	@exec "$$($(SWIFT) build -c $(CONFIGURATION) --show-bin-path)/juice" demo $(ARGS)

build: setup ## Build the juice command
	@echo "Building juice ($(CONFIGURATION)); the first time takes a few minutes"
	@$(SWIFT) build -c $(CONFIGURATION) --product juice

test: setup lint ## Everything CI checks: format, build without warnings, all tests
	@echo "Building with warnings as errors"
	@$(SWIFT) build --build-tests -Xswiftc -warnings-as-errors
	@echo "Running the tests"
	@$(SWIFT) test --skip-build -Xswiftc -warnings-as-errors
	@[ -n "$$KAFKA_BOOTSTRAP_SERVERS" ] || echo "Skipped: tests on a real broker. To run them: KAFKA_BOOTSTRAP_SERVERS=host:port make test"

simulate: setup ## Run the engine in simulated clusters that fail in every way (SEEDS=100000, or SEED=7 for one with a trace)
	@$(SWIFT) build -c release --product simulate
	@exec "$$($(SWIFT) build -c release --show-bin-path)/simulate" \
		$(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) $(if $(FLAW),--flaw $(FLAW))

lint: setup ## Check the layout of the source files
	@echo "Checking the format"
	@$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests

format: setup ## Lay out the source files
	@$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests

setup: ## Install librdkafka and simdjson where they are missing
	@./scripts/setup.sh

clean: ## Remove what was built
	@rm -rf .build

# Everything a developer does here. `make` alone lists the targets.
# Settings are given as in `make fuzz FUZZTIME=5m`; what the bank itself reads
# (DATABASE_URL, BANKAPI_LISTEN, ...) is passed on from the environment.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
export BANKAPI_VERSION := $(VERSION)
COMPOSE   = $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
FUZZTIME ?= 10s
COUNT    ?= 6
BENCH    ?= .

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## The bank

.PHONY: run
run: build ## Start the bank on 127.0.0.1:8080 with a PostgreSQL of its own in .bankapi/
	@scripts/setup.sh --optional postgres
	@exec bin/bankapi serve

.PHONY: build
build: ## Build bin/bankapi
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/bankapi ./cmd/bankapi

.PHONY: up
up: images ## Start the bank, PostgreSQL and Redis in containers
	@scripts/compose-up.sh $(COMPOSE)

.PHONY: fleet
fleet: images ## Start three instances behind nginx in containers, on 127.0.0.1:8000
	@scripts/compose-up.sh --fleet $(COMPOSE)

.PHONY: down
down: ## Stop the containers; the data stay in their volume
	@$(COMPOSE) --profile fleet down

.PHONY: images
images: # The images that containers start from; stand-ins where no registry answers
	@deploy/standin-images.sh

## Tests

.PHONY: test
test: ## Run every test, against real PostgreSQL and Redis servers
	@scripts/setup.sh postgres redis nginx
	go test $$(go list ./... | grep -v '/tests$$')
	go test -count=1 ./tests

.PHONY: smoke
smoke: images ## Prove the containers: first start, a tour by curl, a stale volume, the fleet, an orderly end
	@scripts/smoke.sh $(COMPOSE)
	@scripts/smoke-fleet.sh $(COMPOSE)

.PHONY: race
race: ## Run the tests of internal/ under the race detector
	@scripts/setup.sh postgres redis cc
	go test -race ./internal/...

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (10s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks named BENCH (all), compared with the run before
	@scripts/setup.sh postgres redis
	@scripts/bench.sh '$(BENCH)' $(COUNT)

.PHONY: bench-limiter
bench-limiter: ## Compare the limiter with other Go limiters, in turns, and print medians and ratios
	@scripts/setup.sh redis
	@go -C bench run ./cmd/limiter

.PHONY: bench-ledger
bench-ledger: ## Compare the whole bank with pgbench on a usual ledger, in turns; some nine minutes
	@scripts/setup.sh postgres
	@go -C bench run ./cmd/ledger

.PHONY: bench-reads
bench-reads: ## Compare reads of a ledger of 10 million transfers with those of 100 thousand: 4 GB, some minutes
	@scripts/setup.sh postgres
	BANKAPI_BENCH_TRANSFERS=10000000 go test -run '^$$' -bench Reads -benchtime 200x -timeout 60m ./internal/transfers

.PHONY: bench-guards
bench-guards: ## Measure what each constraint, trigger and index costs a transfer, in turns
	@scripts/setup.sh postgres
	go test -run '^$$' -bench Guards -benchtime 100x -timeout 60m ./internal/transfers

## Before a commit

.PHONY: check
check: format vet lint tidy race architecture ## Check format, vet, lint, go.mod, races and the import table

.PHONY: format
format: # gofmt has nothing to change
	@echo gofmt
	@files=$$(gofmt -l .); \
	if [[ -n $$files ]]; then echo "run gofmt -w on:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: # go vet finds nothing
	go vet ./...

.PHONY: lint
lint: bin/golangci-lint ## Run golangci-lint as .golangci.yml says
	bin/golangci-lint run

.PHONY: tidy
tidy: # the go.mod and go.sum of each module hold what is imported, no more and no less
	go mod tidy -diff
	go -C tools mod tidy -diff
	go -C bench mod tidy -diff
	go -C bench vet ./...

.PHONY: architecture
architecture: # Packages import only what the table in tests/ allows
	@tests=$$(sed -n "s/^func \(Test[A-Za-z0-9]*\).*/\1/p" tests/architecture_test.go | paste -sd "|"); \
	go test -count=1 -run "^($$tests)$$" ./tests

bin/golangci-lint: tools/go.mod tools/go.sum
	@echo 'building golangci-lint, some minutes at the first time'
	@go -C tools build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# Lake's targets. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
TOOL     := $(GO) tool -modfile=tools/go.mod
BIN      := bin
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
SUMMARY  := $(TOOL) gotestsum --format pkgname --format-hide-empty-pkg --
FUZZTIME ?= 10s
FUZZDIRS ?= internal lance metastore services
PACKAGES ?= ./...

# Tests drive the Temporal server that `make build` has built.
export LAKE_TEMPORAL_DEV_BIN ?= $(CURDIR)/$(BIN)/lake-temporal-dev

help: ## print this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/lake and bin/lake-temporal-dev (first time: some minutes)
	@echo "building $(BIN)/lake (the first build compiles Arrow, Pebble, Temporal's client and links DuckDB: about 3 minutes on 2 cores)"
	@$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/lake ./cmd/lake
	@echo "building $(BIN)/lake-temporal-dev (the first build compiles the Temporal server: about 5 minutes on 2 cores)"
	@cd deploy/temporal && $(GO) build -ldflags '-s -w' -o ../../$(BIN)/lake-temporal-dev .

run: build ## start everything on this machine: lake dev
	@$(BIN)/lake dev

demo: build ## start lake dev, ingest a file, query it, drop it, stop (FILE=path.parquet to bring your own)
	@deploy/demo/run.sh "$(FILE)"

test: ## run the tests, after installing what they need
	@tools/setup.sh postgres s3 promtool
	@$(MAKE) --no-print-directory build
	@cd deploy/temporal && $(GO) test -vet=off .
	@$(SUMMARY) -timeout 20m $(PACKAGES)

test-race: build ## run the tests under the race detector
	@tools/setup.sh postgres s3
	@$(SUMMARY) -race -timeout 40m $(PACKAGES)

test-backends: ## run the conformance suites of every storage backend
	@tools/setup.sh postgres s3
	@$(SUMMARY) -count=1 -timeout 20m ./metastore/... ./objstore/... ./engine/...

test-clients: build ## run stock clients (ADBC, JDBC, Rust) against a real server
	@tools/setup.sh clients
	@cd test/blackbox && LAKE_BIN=$(CURDIR)/$(BIN)/lake $(GO) tool -modfile=../../tools/go.mod gotestsum --format testname -- -count=1 -timeout 10m ./...

test-robustness: build ## kill real processes at every step and check the invariants
	@tools/setup.sh postgres
	@LAKE_BIN=$(CURDIR)/$(BIN)/lake $(SUMMARY) -count=1 -timeout 40m -tags robustness ./worker ./test/robustness/...

fuzz: ## run every fuzz target below FUZZDIRS for FUZZTIME each
	@tools/fuzz.sh $(FUZZTIME) $(FUZZDIRS)

bench: build ## run the benchmarks with their peers (docs/performance.md)
	@tools/setup.sh
	@$(GO) run ./test/bench

lint: ## run the linters, workflowcheck and the architecture test
	@$(TOOL) golangci-lint run --allow-parallel-runners ./...
	@$(TOOL) workflowcheck ./workflows/...
	@$(GO) test -count=1 ./test/arch/...

fmt: ## format the code
	@$(TOOL) golangci-lint fmt ./...

generate: ## generate code (needs protoc 3.21 or newer)
	@$(GO) build -modfile=tools/go.mod -o $(BIN)/ google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(GO) generate ./...

verify: generate fmt ## check that generated code, formatting and go.mod are as committed
	@$(GO) mod tidy
	@git diff --exit-code

vuln: ## look the dependencies up in the vulnerability database (needs the internet)
	@$(GO) run golang.org/x/vuln/cmd/govulncheck@latest ./...

clean: ## remove what was built
	@rm -rf $(BIN)

.PHONY: help build run demo test test-race test-backends test-clients test-robustness fuzz bench lint fmt generate verify vuln clean

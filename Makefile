# Two commands do all: `go run ./cmd/hapax serve` runs it, `make test` proves it.
# Everything here works on Debian 12 with Go 1.26, Node 20 and the package registries; what else it needs it brings.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
# Packages whose tests start goroutines that share memory: run once more under the race detector.
RACE    := ./internal/prove/... ./internal/engine/... ./internal/fanout/... ./internal/store/... ./internal/wire/... ./internal/serve/... ./internal/forward/... ./client/...
SEED    ?= 1

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build ./hapax
	$(GO) build -o hapax ./cmd/hapax

# The quick ones first. Each says how long it took, so that a red or a slow run can be read.
STEPS := lint wasm web unit race browser mutate

.PHONY: test
test: ## everything that must be green, as CI runs it
	@took=""; for step in $(STEPS); do \
	  echo "== $$step"; began=$$SECONDS; \
	  $(MAKE) --no-print-directory $$step || { echo "== $$step failed after $$((SECONDS - began)) s"; exit 1; }; \
	  took="$$took, $$step $$((SECONDS - began)) s"; echo "== $$step: $$((SECONDS - began)) s"; \
	done; echo "== green in $$SECONDS s: $${took#, }"

.PHONY: lint
lint: ## formatting, vet, staticcheck, the rules of the house
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "gofmt: $$files"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod verify >/dev/null
	$(GO) test -count=1 -run TestHouse .

.PHONY: unit
unit: ## all tests: units, conformance, simulation, power cuts, kill -9
	$(GO) test -timeout 60m ./...

.PHONY: race
race: ## the tests of concurrent packages under the race detector
	@test/need.sh gcc gcc libc6-dev
	$(GO) test -race -short -timeout 60m $(RACE)

.PHONY: wasm
wasm: ## the client's id vectors on js/wasm under Node
	GOOS=js GOARCH=wasm $(GO) vet ./client/...
	GOOS=js GOARCH=wasm $(GO) test -exec "$$($(GO) env GOROOT)/lib/wasm/go_js_wasm_exec" ./client/ids/...

.PHONY: web
web: ## the browser SDK: types, lint, tests, size, generated files fresh (needs Node 20)
	cd web && npm ci --ignore-scripts --no-fund --no-audit
	cd web && npm run check
	$(GO) test -count=1 -run TestCases ./test/cases -sdk "node $(CURDIR)/web/sdk/scripts/host.mjs"

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-fund --no-audit

.PHONY: browser
browser: web/node_modules/.package-lock.json ## stores, tabs and the console in a real Chromium against the real server; installs Debian's chromium where it is missing
	@test/need.sh "$${CHROMIUM:-/usr/bin/chromium}" chromium
	cd web && npm run browser --workspace browser

.PHONY: mutate
mutate: ## put faults into the settlement, the gateway and their audit; each must be caught by the test named for it
	$(GO) run ./test/mutate

.PHONY: agree
agree: ## hold settlement, audit and probe against each other on 8,000 random scenarios
	$(GO) test -count=1 -timeout 15m -run TestThreeReadingsAgree ./test/agree -scenarios 8000 -seed 1000

.PHONY: bench-settle
bench-settle: ## settle 20 million events against SQLite and against sort with awk, equal figures required
	$(GO) run ./test/settlebench

.PHONY: bench-proof
bench-proof: ## prove a log of 6 million events of 2 million keys on one core; a steady ingest beside a proof and without
	$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 30m ./internal/prove

.PHONY: postgres
postgres: ## PostgreSQL's programs, for tests that start a server of their own; installs Debian's postgresql where it is missing
	@test/need.sh "$$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -1 | grep . || echo postgres)" postgresql

.PHONY: bench-ingest
bench-ingest: postgres ## ingest over HTTP, durable, against PostgreSQL with a row a transaction behind the same handler
	$(GO) run ./test/ingestbench

.PHONY: replay
replay: ## run one seed of the simulation again: make replay SEED=42
	$(GO) test -count=1 -v -run TestReplay ./test/sim -seed $(SEED)

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (default 30s)
	@for p in $$(grep -rl --include='*_test.go' 'func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -ho 'func Fuzz[A-Za-z0-9_]*' $$p/*_test.go | cut -d' ' -f2); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-30s} $$p; done; done

GO ?= go
FUZZTIME ?= 100000x
BENCH ?= .
BENCHTIME ?= 1s
TESTFLAGS ?=
# Run by version, not required by go.mod: users of the module must not get it.
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help demo test race invariants lint staticcheck bench fuzz tidy-check

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: ## replay a generated workload and print what each policy costs
	$(GO) run ./examples/replay

test: ## all tests; needs only Go
	$(GO) test $(TESTFLAGS) ./...

race: ## all tests under the race detector, which also checks invariants; needs a C compiler
	$(GO) test -race $(TESTFLAGS) ./...

invariants: ## all tests with internal invariants checked after each operation
	$(GO) test -tags invariants $(TESTFLAGS) ./...

lint: ## formatting and vet
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:" $$unformatted; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags invariants ./...

# ST1005 wants lower case, but the fault of an option begins with the field's name.
staticcheck: ## what vet does not see; fetches the tool
	$(GO) run $(STATICCHECK) -checks inherit,-ST1005 ./...

bench: ## benchmarks; BENCH and BENCHTIME choose
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) ./lookup ./policy ./tiering ./metrics

fuzz: ## every fuzz target for FUZZTIME, a count (100000x) or a time (10s)
	@set -e; packages=$$($(GO) list ./...); found=0; \
	for package in $$packages; do \
		listed=$$($(GO) test -list '^Fuzz' $$package) || { echo "$$listed"; exit 1; }; \
		for target in $$(echo "$$listed" | grep '^Fuzz'); do \
			echo "$$package $$target"; found=1; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done; \
	[ $$found = 1 ] || { echo "no fuzz target found"; exit 1; }

tidy-check: ## go.mod and go.sum of every module are as `go mod tidy` makes them
	@for module in $$(git ls-files '*go.mod' || echo go.mod); do \
		echo "tidy $$module"; (cd $$(dirname $$module) && $(GO) mod tidy -diff) || exit 1; \
	done

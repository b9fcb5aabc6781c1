GO ?= go
FUZZTIME ?= 100000x
BENCH ?= .
BENCHTIME ?= 1s

.PHONY: help demo test race invariants lint bench fuzz tidy-check

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: ## replay a generated workload and print what each policy costs
	$(GO) run ./examples/replay

test: ## all tests; needs only Go
	$(GO) test ./...

race: ## all tests under the race detector, which also checks invariants; needs a C compiler
	$(GO) test -race ./...

invariants: ## all tests with internal invariants checked after each operation
	$(GO) test -tags invariants ./...

lint: ## formatting and vet
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:" $$unformatted; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags invariants ./...

bench: ## benchmarks; BENCH and BENCHTIME choose
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) ./lookup ./policy ./tiering

fuzz: ## every fuzz target for FUZZTIME, a count (100000x) or a time (10s)
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

tidy-check: ## go.mod and go.sum of every module are as `go mod tidy` makes them
	@for module in $$(git ls-files '*go.mod' || echo go.mod); do \
		echo "tidy $$module"; (cd $$(dirname $$module) && $(GO) mod tidy -diff) || exit 1; \
	done

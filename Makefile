# Every target has a one-line help after ##; `make help` prints them.
GO      ?= go
BIN     := bin/piton
ARGS    ?=
FUZZ    ?= 5000x
TRUTH   ?= 200
SEEDS   ?= 2000
SEED    ?=
DEFECTS := 1 2 3 6 7 8 12 15
# Many tests measure the machine they run on, which others use too: up to three that
# fail are run once more, alone, and both runs are printed.
AGAIN   := $(GO) tool gotestsum --format standard-quiet --hide-summary=skipped --rerun-fails=1 --rerun-fails-max-failures=3
export CGO_ENABLED = 0

.DEFAULT_GOAL := help

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/piton, a static binary
	$(GO) build -trimpath -ldflags=-s -o $(BIN) ./cmd/piton

run: build ## build piton and open the tuner (ARGS='--headless -n 1' passes flags)
	@$(BIN) $(ARGS)

test: ## run the tests that take up to 90 s on two CPUs (kernel tests skip without root)
	$(GO) test -short -p 4 -parallel 8 ./... # twice the CPUs: many tests wait

test-all: ## run all tests, the slow ones too (terminal tests skip without tmux, kernel tests without root)
	$(AGAIN) --packages=./...

race: ## run the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(AGAIN) --packages=./... -- -race -short
	CGO_ENABLED=1 $(GO) test -race ./internal/tui ./internal/change/... ./workloads/stripio -run 'Random|Storm|StartedLate|AllIsMerged' # whole, as concurrent as can be

lint: ## gofmt, go vet and staticcheck (pinned in go.mod)
	@unformatted=$$(gofmt -l cmd internal workloads); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/piton

fuzz: ## fuzz every parser, FUZZ inputs each (a time such as 1m works too)
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ) $$pkg >fuzz.out 2>&1 || { cat fuzz.out; exit 1; }; \
		done; \
	done; rm -f fuzz.out

golden: ## rewrite the golden frames and the kept schema from what is drawn and printed now
	$(GO) test $$(grep -rl --include=*_test.go 'internal/tuitest/golden"' internal/tui | xargs -n1 dirname | sort -u | sed "s|^|./|") -update
	$(GO) test ./internal/cli -run TestSchemaIsKept -update

pictures: ## rewrite the README's pictures, a moving one and stills, from piton demo
	$(GO) test ./internal/demo -run Picture -update

man: ## write the manual pages of every command and topic to bin/man (MANPATH=bin/man man piton)
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) run ./internal/cli/manpages bin/man

generate: ## rewrite the generated parts of the help's pages and, with the clang that made them, the eBPF objects
	$(GO) generate ./internal/bpf
	$(GO) test ./cmd/piton -run TestReadmeIsGenerated -update

generated: generate ## fail if a generated file was not up to date
	git diff --exit-code -- cmd testdata internal

vmtest: ## run what needs many CPUs or other kernels in ../shared/vm, where that is (8 to 15 minutes)
	@if [ -x ../shared/vm/run ]; then \
		PITON_VM=1 $(GO) test ./internal/cli -run '^Test(Guard|SchedExt|Steering)?InVM$$' -count=1 -parallel 2 -timeout 80m -v; \
	else \
		echo "vmtest: skipped: there is no ../shared/vm/run to boot machines with"; \
	fi

simulate: ## SEEDS random histories of changes, kills, full disks and reused numbers (SEED=N: that one, with its history)
	SEEDS=$(SEEDS) SEED=$(SEED) $(GO) test ./internal/change/simulate -run '^TestSimulate(Standing)?$$' -count=1 -timeout 60m -v

simulate-defects: ## put old defects back, one after the other, and fail unless the simulator finds each
	@set -e; $(GO) test -tags defects -c -o simulate.test ./internal/change/simulate; \
	for n in $(DEFECTS); do \
		if PITON_DEFECT=$$n SEEDS=$(SEEDS) ./simulate.test -test.run '^TestSimulate$$' >simulate.out 2>&1; then \
			echo "defect $$n was put back, and $(SEEDS) histories did not find it"; exit 1; \
		fi; \
		grep -m 1 'seed [0-9]*: ' simulate.out | sed "s/.*\(seed\)/defect $$n: \1/"; \
	done; rm -f simulate.test simulate.out

bench: ## Go benchmarks of the scan, the model, the table, the frame, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./...

cost: build ## what piton, htop, btop and top cost side by side, and the time from key to screen: the README's figures
	$(GO) run ./internal/cost -procs 5000 -settle 4s -for 8s -- 'htop -d 10' 'btop --utf-force' 'top -d 1' 'bin/piton -d 1s'
	$(GO) run ./internal/cost -procs 3000 -busy 2 -keys 1000 -rounds 1 -size 120x40 -- 'bin/piton -d 1s' 'htop -d 10'

truth: ## how often the judge is wrong: A/A comparisons on a noisy machine, and a known slowdown (TRUTH=200, some minutes)
	PITON_TRUTH=$(TRUTH) $(GO) test ./internal/bench/runner -run '^TestTruth' -count=1 -timeout 60m -v

check: lint test-all race fuzz generated simulate simulate-defects vmtest ## all that a change must pass

.PHONY: help build run test test-all race lint fuzz golden pictures man generate generated simulate simulate-defects vmtest bench cost truth check

# Every target has a one-line help after ##; `make help` prints them.
GO      ?= go
BIN     := bin/piton
ARGS    ?=
FUZZ    ?= 5000x
TRUTH   ?= 200
EXPECTED ?= 1500
SEEDS   ?= 2000
FROM    ?= 0
SEED    ?=
PKG     ?= ./...
RUN     ?=
TIMES   ?= 30
LONG    ?=
GUESTS  ?= full
DEFECTS := 1 2 3 6 7 8 12 15 16 17
# The rarest, a damaged journal that is believed, shows in one of some 2,000 histories.
DEFECTSEEDS := 40000
SINCE   ?=
# Packages of ./... that differ from the commit SINCE, or import what does; all without it.
CHANGED := $(GO) run ./internal/dev/changed -since '$(SINCE)'
# The packages that start goroutines, and the screen, whose library does (the command line
# starts two, and takes 5 minutes under the race detector: make weekly); those with long tests;
# those with files for arm64.
RACE     = $$(grep -rlE --include=*.go --exclude=*_test.go --exclude-dir=cli --exclude-dir=dev '^\s+go |\.Go\(' internal workloads | xargs -n1 dirname | sort -u | sed 's|^|./|') ./internal/tui
# The laboratory (internal/lab), which has a stage of its own.
LAB     := ./internal/lab/...
SLOW     = $$(grep -rl --include=*_test.go --exclude-dir=lab -F 'testing.Short()' cmd internal workloads | xargs -n1 dirname | sort -u | sed 's|^|./|')
ARM64   := ./internal/kernel/... ./workloads/stream ./workloads/internal/cycle
# The same programs from every checkout, so that they share what is compiled.
export GOFLAGS += -trimpath
export CGO_ENABLED = 0

.DEFAULT_GOAL := help

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/piton, a static binary
	$(GO) build -trimpath -ldflags=-s -o $(BIN) ./cmd/piton

run: build ## build piton and open the tuner (ARGS='--headless -n 1' passes flags)
	@$(BIN) $(ARGS)

test: ## run the tests that take up to 90 s on two CPUs, and go vet (kernel tests skip without root)
	@$(GO) run ./internal/dev/leftover -- $(GO) test -short -vet=all -p 4 -parallel 8 $(filter-out piton/internal/lab%,$(shell $(GO) list ./...)) # twice the CPUs: many tests wait

quick: fmt test simulate-defects arm64 ## what every commit must pass: format, vet, short tests, simulation (3 minutes, cold 10)

full: ## what a change must pass, in two lanes (25 minutes cold): quick, long tests, race, lint, fuzzing, machines
	$(GO) run ./internal/dev/ci

flaky: ## run the tests of PKG (RUN=Test… LONG=1) 30 TIMES beside two spinners and print what failed
	@mkdir -p bin/flaky; failed=; spinners=; trap 'kill $$spinners' EXIT; trap 'exit 130' INT TERM; \
	for n in 1 2; do timeout 2h sh -c 'while :; do :; done' & spinners="$$spinners $$!"; done; \
	for dir in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' $(PKG)); do \
		echo "$$dir"; test="$(CURDIR)/bin/flaky/$$(basename "$$dir")"; $(GO) test -c -o "$$test.test" "$$dir" || exit 1; \
		(cd "$$dir" && $(GO) tool stress -p 1 -count $(TIMES) -timeout 30m -o "$$test-" "$$test.test" \
			-test.run '$(RUN)' -test.parallel 8 -test.short=$(if $(LONG),false,true)) || failed=1; \
	done; test -z "$$failed"

weekly: ## what looks for new faults: other kernels, new histories, each fuzzer for a minute, all races, how often the judge errs
	$(MAKE) guests GUESTS=weekly
	$(MAKE) simulate SEEDS=400000 FROM=$$(date +%s)
	SEEDS=2000000 FROM=$$(date +%s) $(GO) test ./internal/tui/screen -run '^TestInput$$' -count=1 -timeout 2h -v
	$(MAKE) fuzz FUZZ=1m
	CGO_ENABLED=1 $(GO) test -race -timeout 60m ./...
	PITON_ALL_LINES=1 $(GO) test -timeout 3h -run OddLine ./internal/topology
	unshare --user --map-root-user env GOFLAGS=-count=1 $(MAKE) test # as in a container
	$(MAKE) truth
	$(MAKE) lab

fmt:
	@unformatted=$$(gofmt -l cmd internal workloads); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }

arm64: # the packages that have files for it; the rest is the same program
	GOARCH=arm64 $(GO) vet $(ARM64)

ordinary: ## make test as a user without rights, whom it makes and removes
	.ci/ordinary

long: ## run the slow tests too (terminal tests skip without tmux, kernel tests without root)
	@set -e; pkgs=$$($(CHANGED) $(SLOW)); test -z "$$pkgs" || $(GO) test -p 4 -parallel 8 $$pkgs

lab: ## run all tests of the laboratory, which reproduces published studies, if it or what it imports changed
	@set -e; pkgs=$$($(CHANGED) $(LAB)); test -z "$$pkgs" || $(GO) test -vet=all -p 4 -parallel 8 $$pkgs

race: ## run the tests of the packages that share memory under the race detector (needs a C compiler)
	@set -e; pkgs=$$($(CHANGED) $(RACE)); test -z "$$pkgs" || CGO_ENABLED=1 $(GO) test -race -short $$pkgs

lint: ## staticcheck, pinned in go.mod; go keeps the program that it builds
	$(GO) tool staticcheck ./...

fuzz: ## fuzz every parser, FUZZ inputs each (a time such as 1m works too)
	@set -e; mkdir -p bin; $(CHANGED) ./... | sed 's|^piton|.|' | while read -r dir; do \
		for target in $$(grep -ohs '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
			echo "$$dir $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ) $$dir >bin/fuzz.out 2>&1 || { cat bin/fuzz.out; exit 1; }; \
		done; \
	done

golden: ## rewrite the golden frames and the kept schema from what is drawn and printed now
	$(GO) test $$(grep -rl --include=*_test.go 'internal/tuitest/golden"' internal/tui | xargs -n1 dirname | sort -u | sed "s|^|./|") -update
	$(GO) test ./internal/cli -run TestSchemaIsKept -update

pictures: ## rewrite the README's pictures, a moving one and stills, from piton demo
	$(GO) test ./internal/demo -run Picture -update

man: ## write the manual pages of every command and topic to bin/man (MANPATH=bin/man man piton)
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) run ./internal/cli/manpages bin/man

pages: ## rewrite the generated parts of the help's pages
	$(GO) test ./cmd/piton -run '^TestReadmeIsGenerated$$' -update

generate: pages ## the same and, with the clang that made them, the eBPF objects (minutes)
	$(GO) generate ./internal/bpf

guests: ## run what needs many CPUs or other kernels in ../shared/vm, where that is (GUESTS=full, weekly, changed or names)
	@if [ -x ../shared/vm/run ]; then \
		PITON_GUESTS=$(GUESTS) $(GO) test ./internal/cli -run '^TestGuests$$' -count=1 -timeout 5h -v; \
	else \
		echo "left out: guests: there is no ../shared/vm/run to boot machines with"; \
	fi

simulate: ## SEEDS random histories after FROM, of changes, kills, full disks and reused numbers (SEED=N: that one, with its history)
	SEEDS=$(SEEDS) FROM=$(FROM) SEED=$(SEED) $(GO) test ./internal/change/simulate -run '^TestSimulate(Standing|Groups)?$$' -count=1 -timeout 60m -v

simulate-defects: ## put old defects back, one after the other, and fail unless the simulator finds each
	@set -e; mkdir -p bin; $(GO) test -tags defects -c -o bin/simulate.test ./internal/change/simulate; \
	for n in $(DEFECTS); do \
		if PITON_DEFECT=$$n SEEDS=$(DEFECTSEEDS) FROM=$(FROM) bin/simulate.test -test.run '^TestSimulate$$' >bin/simulate.out 2>&1; then \
			echo "defect $$n was put back, and $(DEFECTSEEDS) histories did not find it"; exit 1; \
		fi; \
		found=$$(grep -m 1 -o 'seed [0-9]*: .*' bin/simulate.out) || { echo "defect $$n: no history says what is wrong"; tail -30 bin/simulate.out; exit 1; }; \
		echo "defect $$n: $$found"; \
	done

bench: ## Go benchmarks of the scan, the model, the table, the frame, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./...

size: build ## the bytes of bin/piton, and the packages that have most of its code and data
	@ls -l $(BIN) | awk '{print $$5, $$NF}'
	@$(GO) build -ldflags=-w -o bin/symbols ./cmd/piton
	@$(GO) tool nm -size bin/symbols | awk '$$3 ~ /[TtRrDd]/ && $$4 !~ /memory$$/ { \
		name = $$4; sub(/^(type:\.(eq|hash)\.|type:|go:itab\.|\*)+/, "", name); sub(/[[(].*/, "", name); \
		at = match(name, /\/[^\/]*$$/); last = substr(name, at + 1); sub(/[.,].*/, "", last); package = substr(name, 1, at) last; \
		$$3 ~ /[Tt]/ ? code[package] += $$2 : data[package] += $$2; all[package] += $$2 } \
		END { for (p in all) printf "%9d %9d  %s\n", code[p], data[p], p }' | sort -k1,1nr -k2,2nr | awk 'BEGIN { print "     code      data  package" } NR <= 60'

cost: build ## what piton, htop, btop and top cost side by side, and the time from key to screen: the README's figures
	$(GO) run ./internal/cost -procs 5000 -settle 4s -for 8s -- 'htop -d 10' 'btop --utf-force' 'top -d 1' 'bin/piton -d 1s'
	$(GO) run ./internal/cost -procs 3000 -busy 2 -keys 1000 -rounds 1 -size 120x40 -- 'bin/piton -d 1s' 'htop -d 10'

truth: ## how often the judge is wrong: A/A comparisons on a noisy machine, and a known slowdown (TRUTH=200, half an hour)
	PITON_TRUTH=$(TRUTH) $(GO) test ./internal/bench/runner -run '^TestTruth' -count=1 -timeout 60m -v

expected: ## what piton expects of each CPU, and what a probe then gets there, which runs for EXPECTED ms (5 minutes)
	PITON_TEST_EXPECTED=$(EXPECTED) $(GO) test ./internal/model -run '^TestExpected$$' -count=1 -timeout 60m -v

.PHONY: help build run test quick full flaky weekly fmt arm64 ordinary long lab race lint fuzz golden pictures man pages generate guests simulate simulate-defects bench size cost truth expected

// Package internal holds piton. This page is the map; read it before the code.
//
// # How data flows
//
// Figures go one way:
//
//	/proc, /sys, perf ─▶ sample.Sampler ──Sample──▶ model.Next(prev, cur) ──Model──▶ field.Columns ─▶ tui │ table │ JSON │ CSV
//	                     (what the kernel said)     (rates, histories, ranks)        (names, units)
//
// Changes go one way too:
//
//	key │ flag ─▶ action ──Request──▶ change.Plan ──Apply──▶ journal ─▶ kernel ─▶ read back ──▶ change.Outcome
//	              (targets, place.Place)            (one lock, written before the change)
//
// sudo's child, the guard, profiles, isolation and benchmarks' placements take that
// same path. What can be changed is a table of attributes, a file each (change/attr).
// Benchmarks run the workloads of ../workloads, a folder each, as children of piton,
// and are judged by bench.
//
// # The packages, in layers
//
// A package imports only from its own layer and those below; deps_test.go reads the layers here
// and holds it to that. A name covers the packages below it.
//
//	Commands
//	cli            the command piton: its flags, help and topics, read-only mode, the screen's start
//	lab            the laboratory, which the house does not import: published studies, steering by XDP, a scheduler
//	cli/tunecmd    pin, nice, …, move, spread, run, isolate, include, rescue, journal, keep, undo
//	cli/profilecmd  save, apply, verify, profiles, sysctl, export
//	cli/rulescmd   rules
//	cli/irqcmd     irq
//	cli/watchcmd   what only looks: --headless, watch, topo, what-is, doctor
//	cli/recordcmd  record and replay
//	cli/benchcmd   bench
//	cli/autocmd    auto: placements tried on a live process
//	cli/changes    how a command carries out and prints a change
//	cli/app        one run of piton: streams, global flags, the journal, samples and tasks it asks for
//	cli/output     tables, CSV and JSON lines
//	cli/flags      values and words that commands take
//	cli/exit       exit codes, and the errors that end in them
//	cli/config     the user's config.toml: theme, keys, and what the setup screen changes
//	dev            programs for those who change piton: dev/ci runs make full, dev/changed and dev/since find what a
//	               change concerns, dev/leftover fails if tests leave something
//	cost           a program of its own: what full-screen monitors cost, side by side (make cost)
//	Screen
//	demo           a made-up busy machine, for piton demo and the README's pictures
//	tui            the Bubble Tea program
//	               (tui/screen draws, tui/theme styles, tui/widget bars, tui/dialog asks, tui/list
//	               is the list of every view, tui/meters the first line, tui/corepanel the CPUs below it,
//	               tui/owncost what piton costs, tui/starved its own priority, tui/keymap names of keys,
//	               tui/benchview, tui/journalview, tui/irqview, tui/race and tui/whyview are the panes of results, journal,
//	               interrupts, a search and why processes wait, tui/live what runs beside the screen)
//	tuitest        a made-up machine and golden frames, for tests of tui
//	What is asked for
//	rules/daemon   applies standing rules to processes as they start
//	rules          standing rules: which processes get what as they start, and when (pure)
//	action         what keys and flags ask for, planned the same way; what a verb is (tui has the table)
//	paper          what the house knows of published studies: their sections, and what is stored of them
//	report         studies as text, markdown, SVG and HTML
//	auto           placements tried on a live process: candidates, the metric, the search in the change path
//	profile        how a machine is tuned, as a file: read, saved, compared
//	taskfile       what the files of profiles and rules have in common: decoding with positions, checks, patterns, settings
//	Studies and plans
//	change/simulate  the change path in a made-up hostile world, from a seed
//	change/guard   the process that reverts a change unless somebody confirms it
//	partition      what is moved off when CPUs are isolated, and how it is restored
//	noise          when a CPU did not run a thread that had it alone, and what ran there instead
//	bench/runner   runs of a study: the process placed, measured from outside and ended; the process's own end
//	bench/store    the results file, and what was measured before
//	bench          studies, their runs and what they show: judged, in tables, compared with earlier ones
//	bench/stats    rank tests and intervals (pure)
//	search         which of several placements of a live process is kept, and when to look again (pure)
//	why/facts      what is read of a target that waits, and what files alone tell
//	why/session    observes why a target waits, span by span, by eBPF or from files
//	why/page       how the answer is read: its columns, and the lines around the table (pure)
//	watch          single migrations as they happen, and their sums; which thread wakes which; who changes what
//	rescue         real-time tasks that keep everything else from running
//	field          the table of columns
//	target         the TARGET grammar: which tasks a word on the command line means
//	Changes
//	change         plan, confirmation, apply, undo: the one path of every change
//	change/history  what was done by the journal, what undid it, and what is left
//	change/journal  the record of every change, and the lock of a user
//	change/attr    what can be changed: one attribute, one file
//	Samples
//	../workloads   the table of workloads: each is a folder with its parameters, work, known answer, figures and picture
//	               (../workloads/workload is what a workload is)
//	kernel/kernelfake  a made-up machine: tasks, /proc, settings, clock, moves, errors by script (demo and tests)
//	model          rates and histories from two samples (pure)
//	record         samples in a file, and back (pure)
//	sample         collectors and the Sample they fill
//	place          which CPU, and why (pure)
//	Sources
//	irq            interrupt lines, their rates, affinity, devices and queues
//	taskfacts      files, sockets and I/O of one process, when asked for
//	topology       CPUs, cores, caches, nodes, from /sys
//	child          processes of piton itself, and the lines that both ends speak
//	why            why tasks waited for a CPU: causes, the verdict, what helps (pure)
//	users          names of users and their numbers, of directory services too
//	procfs         one file per /proc file, rooted at a path
//	bpf            programs in the kernel: task walk, migrations, wakeups, who had each CPU
//	userfile       files that the user names or piton keeps: opened, checked, replaced
//	Kernel and tools
//	feature        what this kernel and these rights allow
//	kthread        what kernel threads are for, by their names (pure)
//	kernel         system calls; with the one below and lab/netns the only importer of golang.org/x/sys/unix
//	kernel/tree    trees that others made, read inside of them (--host-root)
//	chart          figures as SVG and text, quantities as people read them (pure)
//	cpuset         sets of CPUs and their two notations (pure)
//	change/defect  mistakes of the past, put back behind a build tag
//	crash          the end after a panic, with the terminal given back
//	group          what is alike, together (pure)
//	shell          words quoted for a shell (pure)
//	pattern        regular expressions compiled when first asked for (pure)
package internal

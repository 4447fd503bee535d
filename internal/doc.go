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
//	key │ flag ─▶ action ──Request──▶ tune.Plan ─▶ journal ─▶ kernel ─▶ read back ──▶ tune.Result
//	              (targets, place.Place)         (synced before the change)
//
// Benchmarks run the workloads of ../workloads as children of piton, placed by
// that same second path, and are judged by bench.
//
// # The packages, in dependency order
//
// A package imports only from the lines below its own; deps_test.go holds it to
// that.
//
//	cli, tui       cobra commands and printers; the Bubble Tea program
//	               (tui/screen draws, tui/theme styles, tui/widget bars, tui/dialog asks,
//	               tui/benchview, tui/journalview and tui/irqview are the panes of results, journal, interrupts)
//	action         the table of verbs that keys, help, flags and README share
//	guard          the process that takes a change back unless somebody confirms it
//	paper          the tables of published studies, run again
//	report         studies on a page: text, markdown, SVG, HTML
//	profile        how a machine is tuned, as a file: read, saved, compared
//	partition      what gives way when CPUs are set apart, and how it comes back
//	tune           plan, apply, verify, undo, journal
//	bench          runs, statistics and the results file
//	watch          single migrations as they happen, and their sums
//	rescue         real-time tasks that keep everything else from running
//	field          the table of columns
//	target         the TARGET grammar: which tasks a word on the command line means
//	model          rates and histories from two samples (pure)
//	sample         collectors and the Sample they fill
//	place          which CPU, and why (pure)
//	irq            interrupt lines, their rates, affinity, devices and queues
//	procfs         one file per /proc file, rooted at a path
//	bpf            programs in the kernel: task walk, migrations, who had each CPU; a scheduler
//	userfile       files that the user names or piton keeps: opened, checked, replaced
//	topology       CPUs, cores, caches, nodes, from /sys
//	feature        what this kernel and these rights allow
//	kthread        what kernel threads are for, by their names (pure)
//	kernel         system calls; the only importer of golang.org/x/sys/unix
//	chart          figures as SVG and text (pure)
//	cpuset         sets of CPUs and their two notations (pure)
//	pattern        regular expressions compiled when first asked for (pure)
package internal

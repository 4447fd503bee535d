package field

import (
	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/sample"
)

// figureColumns are counters and the rates made from them.
func figureColumns() []TaskColumn {
	return []TaskColumn{
		rate(TaskColumn{ID: "cpu_percent", Title: "CPU%", Width: 5, unit: percent,
			Help: "share of one CPU used over the last interval"},
			func(r Row) float32 { return r.Rates().CPUPercent }),
		now(rate(TaskColumn{ID: "mem_percent", Title: "MEM%", Width: 5, unit: percent,
			Help: "share of the machine's memory that is resident"},
			func(r Row) float32 { return r.Rates().MEMPercent })),
		rssColumn(),
		timeColumn(),
		migrationsPerSecond(),
		counter(TaskColumn{ID: "migrations", Title: "MIGR", Width: 8,
			Help: "migrations in the task's life (or since piton saw it, when sampled)", Needs: needMigrations,
			Missing: whyNot("migration count")}, sample.HaveMigrations,
			func(t *sample.Task) uint64 { return t.Migrations }),
		words(TaskColumn{ID: "migrations_source", Title: "MIGSRC", Width: 8,
			Help: "where the migration count comes from: sched and ebpf are exact, sampled is a lower bound", Needs: needMigrations,
			Missing: whyNot("migration count")},
			func(r Row) string {
				if r.Task().Have&sample.HaveMigrations == 0 {
					return ""
				}
				return r.Task().MigrationSource.String()
			}),
		pingPong(TaskColumn{ID: "pingpong_per_s", Title: "PINGPONG/s", Width: 11,
			Help: "moves back within 100 ms to a CPU just left, a second (eBPF only)"},
			func(r Row) float32 { return r.Rates().PingPongPerS }),
		pingPong(TaskColumn{ID: "pingpong_percent", Title: "PINGPONG%", Width: 10, unit: percent,
			Help: "share of its migrations that were moves back within 100 ms (eBPF only)"},
			func(r Row) float32 { return r.Rates().PingPongShare * 100 }),
		migrationHistory(),
		runDelay(TaskColumn{ID: "run_delay_percent", Title: "DELAY", Width: 6, unit: percent, Needs: needThreadDelay, all: needEveryDelay,
			Help: "share of the last interval spent runnable but waiting for a CPU, in percent; of a process, the mean of its threads that ran"},
			func(r Row) float32 { return r.Rates().DelayPercent }),
		counter(TaskColumn{ID: "run_delay_ns", Title: "DELAYns", Width: 14,
			Help: "time runnable but waiting in the task's life, in ns", Needs: needDelay, Missing: whyNot("run delay")}, sample.HaveRun,
			func(t *sample.Task) uint64 { return t.RunDelayNs }),
		rate(TaskColumn{ID: "voluntary_per_s", Title: "VCSW/s", Width: 7, Needs: needSwitches,
			Help: "voluntary context switches a second: it blocked"},
			func(r Row) float32 { return r.Rates().VolPerS }),
		rate(TaskColumn{ID: "involuntary_per_s", Title: "ICSW/s", Width: 7, Needs: needSwitches,
			Help: "involuntary context switches a second: it was preempted"},
			func(r Row) float32 { return r.Rates().InvolPerS }),
		counter(TaskColumn{ID: "voluntary_switches", Title: "VCSW", Width: 9, Needs: needSwitches,
			Help: "voluntary context switches in the task's life", Missing: whyNot("count of switches")}, sample.HaveSwitches,
			func(t *sample.Task) uint64 { return t.VoluntarySwitches }),
		counter(TaskColumn{ID: "involuntary_switches", Title: "ICSW", Width: 9, Needs: needSwitches,
			Help: "involuntary context switches in the task's life", Missing: whyNot("count of switches")}, sample.HaveSwitches,
			func(t *sample.Task) uint64 { return t.InvoluntarySwitches }),
	}
}

// whyRate says why a rate is missing.
func whyRate(r Row) string {
	if r.M.Elapsed <= 0 {
		return "a rate needs two samples"
	}
	return "a rate needs two readings of this task's counter: it is new, or the counter could not be read"
}

// runDelay is DELAY, for which the threads of a process have to be read.
func runDelay(c TaskColumn, of func(r Row) float32) TaskColumn {
	c = rate(c, of)
	c.Missing = whyThreads("run delay", sample.HaveRun, whyRate)
	return c
}

func migrationsPerSecond() TaskColumn {
	c := rate(TaskColumn{ID: "migrations_per_s", Title: "MIG/s", Width: 6,
		Help: "migrations to another CPU a second; ≥ marks a lower bound, sampled", Needs: needMigrations},
		func(r Row) float32 { return r.Rates().MigPerS })
	exact := c.Append
	c.Append = func(dst []byte, r Row) []byte {
		if model.Known(r.Rates().MigPerS) && !r.Task().MigrationSource.Exact() {
			dst = appendAtLeast(dst, r)
		}
		return exact(dst, r)
	}
	c.all = needMigrations // those of busy tasks are counted anyway, and idle ones have none
	return c
}

// pingPong completes a column about returns, which only the kernel can see.
func pingPong(c TaskColumn, get func(Row) float32) TaskColumn {
	c.Needs, c.all = needPingPongs, needPingPongs
	c = rate(c, get)
	c.Missing = func(r Row) string {
		if r.Task().Have&sample.HavePingPongs == 0 {
			return "only eBPF programs see each move: piton doctor says what they need"
		}
		return whyRate(r)
	}
	return c
}

func appendAtLeast(dst []byte, r Row) []byte {
	if r.ASCII {
		return append(dst, '>')
	}
	return append(dst, "≥"...)
}

func rssColumn() TaskColumn {
	c := integer(TaskColumn{ID: "rss_bytes", Title: "RES", Width: 5, Desc: true, unit: sizes,
		Help:    "resident memory, in bytes with K, M, G of 1024",
		Missing: func(Row) string { return "the page size of this machine is not known" }},
		func(r Row) (int64, bool) {
			page := int64(r.M.Sample.Host.PageBytes)
			return r.Task().RSSPages * page, page > 0
		})
	return inBytes(c)
}

func timeColumn() TaskColumn {
	get := func(r Row) float64 {
		hz := r.M.Sample.Host.TicksPerSecond
		if hz <= 0 {
			return nan
		}
		return float64(r.Task().UserTicks+r.Task().SystemTicks) / float64(hz)
	}
	return real(TaskColumn{ID: "time_s", Title: "TIME+", Width: 9, Desc: true, unit: seconds,
		Help:    "CPU time used in the task's life, minutes:seconds.hundredths",
		Missing: func(Row) string { return "the clock tick of this machine is not known" },
		Append: func(dst []byte, r Row) []byte {
			v := get(r)
			if v != v {
				return appendNone(dst, r)
			}
			return appendCPUTime(dst, v)
		}}, get)
}

func cpuOf(r Row) cpuset.CPU { return cpuset.CPU(r.Task().LastCPU) }

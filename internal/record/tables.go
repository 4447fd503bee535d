package record

import (
	"errors"
	"maps"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/why"
)

// The rows of the tables. A task has what is reached by pointers beside it.
type (
	cpuRow  = sample.CPU
	moveRow = sample.Move
	moment  struct {
		sample.Sample
		wall, zone int64 // ns since 1970, s east of Greenwich
		boot       int64 // ns since 1970, 0 unknown
	}
	task struct {
		sample.Task
		id       sample.Identity
		group    sample.Threads // without its list
		extra    sample.Extra
		hasGroup bool
		hasExtra bool
		of       *sample.Task // that the row was made of, or that was made of it
	}
	thread struct {
		owner kernel.TID
		sample.Thread
	}
	collector struct {
		sample.Collector
		err string
	}
	cpuGroup struct {
		path string
		sample.CPUGroup
	}
	wait struct {
		tid kernel.TID
		why.Brief
	}
)

var moments = table[moment]{name: "sample", key: func(*moment) uint64 { return 0 }, columns: []column[moment]{
	whole("seq", "", func(r *moment) *uint64 { return &r.Seq }),
	whole("wall", "ns", func(r *moment) *int64 { return &r.wall }),
	whole("zone", "s", func(r *moment) *int64 { return &r.zone }),
	whole("at", "ns", func(r *moment) *time.Duration { return &r.At }),
	whole("late", "ns", func(r *moment) *time.Duration { return &r.Late }),
	whole("replaced", "", func(r *moment) *uint64 { return &r.Replaced }),
	whole("migrations", "source", func(r *moment) *sample.Source { return &r.Migrations }),
	whole("moves_lost", "", func(r *moment) *uint64 { return &r.MovesLost }),
	whole("waits_lost", "", func(r *moment) *uint64 { return &r.WaitsLost }),
	boolean("have_moves", func(r *moment) *bool { return &r.HaveMoves }),
	text("hidden", func(r *moment) *string { return &r.Hidden }),
	text("name", func(r *moment) *string { return &r.Host.Name }),
	whole("uptime", "ns", func(r *moment) *time.Duration { return &r.Host.Uptime }),
	whole("boot", "ns", func(r *moment) *int64 { return &r.boot }),
	real("load1", "", func(r *moment) *float64 { return &r.Host.Load1 }),
	real("load5", "", func(r *moment) *float64 { return &r.Host.Load5 }),
	real("load15", "", func(r *moment) *float64 { return &r.Host.Load15 }),
	boolean("have_load", func(r *moment) *bool { return &r.Host.HaveLoad }),
	whole("mem_total", "bytes", func(r *moment) *uint64 { return &r.Host.MemTotalBytes }),
	whole("mem_used", "bytes", func(r *moment) *uint64 { return &r.Host.MemUsedBytes }),
	boolean("have_mem_used", func(r *moment) *bool { return &r.Host.HaveMemUsed }),
	whole("swap_total", "bytes", func(r *moment) *uint64 { return &r.Host.SwapTotalBytes }),
	boolean("have_swap", func(r *moment) *bool { return &r.Host.HaveSwap }),
	whole("swap_used", "bytes", func(r *moment) *uint64 { return &r.Host.SwapUsedBytes }),
	boolean("have_swap_used", func(r *moment) *bool { return &r.Host.HaveSwapUsed }),
	whole("forks", "", func(r *moment) *uint64 { return &r.Host.Forks }),
	whole("switches", "", func(r *moment) *uint64 { return &r.Host.Switches }),
	whole("ticks_per_second", "", func(r *moment) *int { return &r.Host.TicksPerSecond }),
	whole("page", "bytes", func(r *moment) *int { return &r.Host.PageBytes }),
	real("psi_cpu", "percent", func(r *moment) *float64 { return &r.Host.PSI.CPU }),
	real("psi_io", "percent", func(r *moment) *float64 { return &r.Host.PSI.IO }),
	real("psi_memory", "percent", func(r *moment) *float64 { return &r.Host.PSI.Memory }),
	boolean("have_psi", func(r *moment) *bool { return &r.Host.PSI.Have }),
}}

var cpuRows = table[cpuRow]{name: "cpu", key: func(r *cpuRow) uint64 { return uint64(r.ID) }, columns: []column[cpuRow]{
	whole("id", "", func(r *cpuRow) *cpuset.CPU { return &r.ID }),
	boolean("no_times", func(r *cpuRow) *bool { return &r.NoTimes }),
	whole("user", "ticks", func(r *cpuRow) *uint64 { return &r.UserTicks }),
	whole("nice", "ticks", func(r *cpuRow) *uint64 { return &r.NiceTicks }),
	whole("system", "ticks", func(r *cpuRow) *uint64 { return &r.SystemTicks }),
	whole("idle", "ticks", func(r *cpuRow) *uint64 { return &r.IdleTicks }),
	whole("iowait", "ticks", func(r *cpuRow) *uint64 { return &r.IOWaitTicks }),
	whole("irq", "ticks", func(r *cpuRow) *uint64 { return &r.IRQTicks }),
	whole("softirq", "ticks", func(r *cpuRow) *uint64 { return &r.SoftIRQTicks }),
	whole("steal", "ticks", func(r *cpuRow) *uint64 { return &r.StealTicks }),
	whole("guest", "ticks", func(r *cpuRow) *uint64 { return &r.GuestTicks }),
	whole("guest_nice", "ticks", func(r *cpuRow) *uint64 { return &r.GuestNiceTicks }),
	whole("migrations_in", "", func(r *cpuRow) *uint64 { return &r.MigrationsIn }),
	boolean("have_in", func(r *cpuRow) *bool { return &r.HaveIn }),
	whole("migrations_out", "", func(r *cpuRow) *uint64 { return &r.MigrationsOut }),
	boolean("have_out", func(r *cpuRow) *bool { return &r.HaveOut }),
	real32("pressure", "CPUs", func(r *cpuRow) *float32 { return &r.Pressure }),
	whole("queued", "", func(r *cpuRow) *uint32 { return &r.Queued }),
	boolean("have_pressure", func(r *cpuRow) *bool { return &r.HavePressure }),
}}

var taskRows = table[task]{name: "task", key: func(r *task) uint64 { return uint64(r.TID) }, columns: []column[task]{
	whole("tid", "", func(r *task) *kernel.TID { return &r.TID }),
	whole("tgid", "", func(r *task) *kernel.TID { return &r.TGID }),
	whole("ppid", "", func(r *task) *kernel.TID { return &r.PPID }),
	whole("last_cpu", "", func(r *task) *int32 { return &r.LastCPU }).or(-1),
	whole("start", "ticks", func(r *task) *uint64 { return &r.StartTicks }),
	text("comm", func(r *task) *string { return &r.id.Comm }),
	text("cmdline", func(r *task) *string { return &r.id.Cmdline }),
	text("exe", func(r *task) *string { return &r.id.Exe }),
	text("cgroup", func(r *task) *string { return &r.id.Cgroup }),
	text("cpu_group", func(r *task) *string { return &r.id.CPUGroup }),
	text("user", func(r *task) *string { return &r.id.User }),
	whole("uid", "", func(r *task) *uint32 { return &r.id.UID }).or(-1),
	boolean("full", func(r *task) *bool { return &r.id.Full }),
	boolean("two_users", func(r *task) *bool { return &r.id.TwoUsers }),
	whole("user_time", "ticks", func(r *task) *uint64 { return &r.UserTicks }),
	whole("system_time", "ticks", func(r *task) *uint64 { return &r.SystemTicks }),
	whole("rss", "pages", func(r *task) *int64 { return &r.RSSPages }),
	whole("minor_faults", "", func(r *task) *uint64 { return &r.MinorFaults }),
	whole("major_faults", "", func(r *task) *uint64 { return &r.MajorFaults }),
	whole("flags", "", func(r *task) *uint32 { return &r.Flags }),
	whole("threads", "", func(r *task) *int32 { return &r.Threads }),
	whole("priority", "", func(r *task) *int16 { return &r.Priority }),
	whole("state", "", func(r *task) *byte { return &r.State }),
	whole("policy", "", func(r *task) *kernel.Policy { return &r.Policy }),
	whole("nice", "", func(r *task) *int8 { return &r.Nice }),
	whole("rtprio", "", func(r *task) *uint8 { return &r.RTPrio }),
	boolean("odd", func(r *task) *bool { return &r.Odd }),
	boolean("reset_on_fork", func(r *task) *bool { return &r.ResetOnFork }).with(sample.HaveAttr),
	whole("migration_source", "source", func(r *task) *sample.Source { return &r.MigrationSource }),
	whole("have", "", func(r *task) *sample.Have { return &r.Have }),
	whole("run", "ns", func(r *task) *uint64 { return &r.RunNs }).with(sample.HaveTime),
	whole("run_delay", "ns", func(r *task) *uint64 { return &r.RunDelayNs }).with(sample.HaveRun),
	whole("slices", "", func(r *task) *uint64 { return &r.Slices }).with(sample.HaveRun),
	whole("migrations", "", func(r *task) *uint64 { return &r.Migrations }).with(sample.HaveMigrations),
	whole("pingpongs", "", func(r *task) *uint64 { return &r.PingPongs }).with(sample.HavePingPongs),
	whole("voluntary", "", func(r *task) *uint64 { return &r.VoluntarySwitches }).with(sample.HaveSwitches),
	whole("involuntary", "", func(r *task) *uint64 { return &r.InvoluntarySwitches }).with(sample.HaveSwitches),
	cpus("affinity", func(r *task) *cpuset.Set { return &r.Affinity }).with(sample.HaveAffinity),
	whole("io_class", "", func(r *task) *kernel.IOClass { return &r.IOPrio.Class }).with(sample.HaveIOPrio),
	whole("io_level", "", func(r *task) *int8 { return &r.IOPrio.Level }).with(sample.HaveIOPrio),
	real32("pressure", "CPUs", func(r *task) *float32 { return &r.Pressure }).with(sample.HavePressure),
	boolean("group", func(r *task) *bool { return &r.hasGroup }),
	whole("group_have", "", func(r *task) *sample.Have { return &r.group.Have }),
	cpus("group_cpus", func(r *task) *cpuset.Set { return &r.group.CPUs }),
	boolean("affinity_differs", func(r *task) *bool { return &r.group.AffinityDiffers }),
	boolean("policy_differs", func(r *task) *bool { return &r.group.PolicyDiffers }),
	boolean("nice_differs", func(r *task) *bool { return &r.group.NiceDiffers }),
	boolean("extra", func(r *task) *bool { return &r.hasExtra }),
	whole("extra_have", "", func(r *task) *sample.Have { return &r.extra.Have }),
	whole("virtual", "pages", func(r *task) *uint64 { return &r.extra.VirtPages }),
	whole("shared", "pages", func(r *task) *uint64 { return &r.extra.SharePages }),
	whole("read", "bytes", func(r *task) *uint64 { return &r.extra.ReadBytes }),
	whole("written", "bytes", func(r *task) *uint64 { return &r.extra.WriteBytes }),
	whole("oom_score", "", func(r *task) *int { return &r.extra.OOMScore }),
	text("wait_channel", func(r *task) *string { return &r.extra.WaitChannel }),
}}

var threadRows = table[thread]{name: "thread", key: func(r *thread) uint64 { return uint64(r.owner)<<32 | uint64(uint32(r.TID)) }, columns: []column[thread]{
	whole("owner", "", func(r *thread) *kernel.TID { return &r.owner }),
	whole("tid", "", func(r *thread) *kernel.TID { return &r.TID }),
	whole("run_delay", "ns", func(r *thread) *uint64 { return &r.RunDelayNs }),
	whole("slices", "", func(r *thread) *uint64 { return &r.Slices }),
}}

var moveRows = table[moveRow]{name: "move", columns: []column[moveRow]{
	whole("tid", "", func(r *moveRow) *kernel.TID { return &r.TID }),
	whole("from", "", func(r *moveRow) *cpuset.CPU { return &r.From }),
	whole("to", "", func(r *moveRow) *cpuset.CPU { return &r.To }),
	whole("count", "", func(r *moveRow) *uint32 { return &r.Count }),
}}

var collectorRows = table[collector]{name: "collector", columns: []column[collector]{
	text("name", func(r *collector) *string { return &r.Name }),
	whole("took", "ns", func(r *collector) *time.Duration { return &r.Took }),
	text("error", func(r *collector) *string { return &r.err }),
	text("rung", func(r *collector) *string { return &r.Rung }),
	text("better", func(r *collector) *string { return &r.Better }),
}}

var cpuGroupRows = table[cpuGroup]{name: "cpu_group", columns: []column[cpuGroup]{
	text("path", func(r *cpuGroup) *string { return &r.path }),
	whole("quota", "ns", func(r *cpuGroup) *time.Duration { return &r.Limit.Quota }),
	whole("period", "ns", func(r *cpuGroup) *time.Duration { return &r.Limit.Period }),
	whole("burst", "ns", func(r *cpuGroup) *time.Duration { return &r.Limit.Burst }),
	whole("used", "ns", func(r *cpuGroup) *time.Duration { return &r.Stat.Used }),
	whole("periods", "", func(r *cpuGroup) *uint64 { return &r.Stat.Periods }),
	whole("throttled", "", func(r *cpuGroup) *uint64 { return &r.Stat.Throttled }),
	whole("throttled_time", "ns", func(r *cpuGroup) *time.Duration { return &r.Stat.ThrottledTime }),
	whole("stalled", "ns", func(r *cpuGroup) *time.Duration { return &r.Stalled }),
	boolean("have_limit", func(r *cpuGroup) *bool { return &r.HaveLimit }),
	boolean("have_stalled", func(r *cpuGroup) *bool { return &r.HaveStalled }),
}}

var waitRows = table[wait]{name: "wait", columns: []column[wait]{
	whole("tid", "", func(r *wait) *kernel.TID { return &r.tid }),
	whole("p99", "ns", func(r *wait) *time.Duration { return &r.P99 }),
	text("blame", func(r *wait) *string { return &r.Blame }),
	real("share", "", func(r *wait) *float64 { return &r.Share }),
}}

// state is the rows of one sample.
type state struct {
	moment     []*moment
	cpus       []*cpuRow
	tasks      []*task
	threads    []*thread
	moves      []*moveRow
	collectors []*collector
	groups     []*cpuGroup    // by path
	waits      []*wait        // by thread
	sample     *sample.Sample // that they were made of, or that was made of them
	lacks      sample.Have    // figures of tasks that the file does not have
}

// Names says which names of processes are recorded.
type Names string

// The names.
const (
	NamesFull Names = "full"
	NamesComm Names = "comm" // no command line and no path of a program, which may hold secrets
)

// rowsOf are the rows of a sample. A task's row that is made of the same task as in the
// sample before is the same one.
func rowsOf(s *sample.Sample, before *state, names Names) *state {
	_, east := s.Wall.Zone()
	m := &moment{Sample: *s, wall: s.Wall.UnixNano(), zone: int64(east)}
	if !s.Host.Boot.IsZero() {
		m.boot = s.Host.Boot.UnixNano()
	}
	n := &state{moment: []*moment{m}, sample: s, cpus: pointers(s.CPUs), moves: pointers(s.Moves)}
	for _, c := range s.Collectors {
		row := &collector{Collector: c}
		if c.Err != nil {
			row.err = c.Err.Error()
		}
		n.collectors = append(n.collectors, row)
	}
	for _, path := range slices.Sorted(maps.Keys(s.CPUGroups)) {
		n.groups = append(n.groups, &cpuGroup{path, s.CPUGroups[path]})
	}
	for _, tid := range slices.Sorted(maps.Keys(s.Waits)) {
		n.waits = append(n.waits, &wait{tid, s.Waits[tid]})
	}
	n.tasks = make([]*task, len(s.Tasks))
	old := before.tasks
	for i, t := range s.Tasks {
		for len(old) > 0 && old[0].TID < t.TID {
			old = old[1:]
		}
		if len(old) > 0 && old[0].of == t {
			n.tasks[i] = old[0]
		} else {
			n.tasks[i] = taskRow(t, names)
		}
		if t.Group != nil {
			for _, th := range t.Group.List {
				n.threads = append(n.threads, &thread{t.TID, th})
			}
		}
	}
	return n
}

func pointers[R any](rows []R) []*R {
	out := make([]*R, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

func values[R any](rows []*R) []R {
	out := make([]R, len(rows))
	for i, r := range rows {
		out[i] = *r
	}
	return out
}

func taskRow(t *sample.Task, names Names) *task {
	r := &task{Task: *t, of: t}
	if t.ID != nil {
		r.id = *t.ID
	}
	if names == NamesComm {
		r.id.Cmdline, r.id.Exe = "", ""
	}
	if r.hasGroup = t.Group != nil; r.hasGroup {
		r.group = *t.Group
	}
	if r.hasExtra = t.Extra != nil; r.hasExtra {
		r.extra = *t.Extra
	}
	return r
}

// publish makes the sample of the rows. What did not change is shared with the sample before.
func (n *state) publish(before *state) error {
	if len(n.moment) != 1 {
		return errDamaged
	}
	m := n.moment[0]
	s := m.Sample
	zone := time.FixedZone("", int(m.zone))
	s.Wall, s.Host.Boot = time.Unix(0, m.wall).In(zone), time.Time{}
	if m.boot != 0 {
		s.Host.Boot = time.Unix(0, m.boot).In(zone)
	}
	s.CPUs, s.Moves = values(n.cpus), values(n.moves)
	s.Collectors = nil
	for _, c := range n.collectors {
		if c.err != "" {
			c.Err = errors.New(c.err)
		}
		s.Collectors = append(s.Collectors, c.Collector)
	}
	s.CPUGroups, s.Waits = nil, nil
	for _, g := range n.groups {
		if s.CPUGroups == nil {
			s.CPUGroups = map[string]sample.CPUGroup{}
		}
		s.CPUGroups[g.path] = g.CPUGroup
	}
	for _, w := range n.waits {
		if s.Waits == nil {
			s.Waits = map[kernel.TID]why.Brief{}
		}
		s.Waits[w.tid] = w.Brief
	}
	s.Tasks = make([]*sample.Task, len(n.tasks))
	old, threads := before.tasks, n.threads
	for i, t := range n.tasks {
		for len(old) > 0 && old[0].TID < t.TID {
			old = old[1:]
		}
		var was *task
		if len(old) > 0 && old[0].TID == t.TID {
			was = old[0]
		}
		size := 0
		for size < len(threads) && threads[size].owner == t.TID {
			size++
		}
		n.tasks[i] = t.publish(was, threads[:size], n.lacks)
		threads = threads[size:]
		s.Tasks[i] = n.tasks[i].of
	}
	if len(threads) > 0 {
		return errDamaged
	}
	n.sample = &s
	return n.check()
}

// publish returns the row, or a new one, whose of is the task that it says.
func (r *task) publish(was *task, threads []*thread, lacks sample.Have) *task {
	list := r.Group == nil && len(threads) > 0 || r.Group != nil && !slices.EqualFunc(r.Group.List, threads, func(a sample.Thread, b *thread) bool {
		return a.TID == b.TID && a.RunDelayNs == b.RunDelayNs && a.Slices == b.Slices
	})
	if r == was && !list {
		return r
	}
	n := *r
	t := &n.Task
	switch {
	case was != nil && was.id == n.id:
		t.ID = was.of.ID
	default:
		id := n.id
		t.ID = &id
	}
	sameGroup := was != nil && was.group.CPUs.Equal(n.group.CPUs) && was.group.Have == n.group.Have &&
		was.group.AffinityDiffers == n.group.AffinityDiffers && was.group.PolicyDiffers == n.group.PolicyDiffers && was.group.NiceDiffers == n.group.NiceDiffers
	switch {
	case !n.hasGroup:
		t.Group = nil
	case t.Group == nil || list || !sameGroup:
		group := n.group
		group.List = nil
		for _, th := range threads {
			group.List = append(group.List, th.Thread)
		}
		t.Group = &group
	}
	switch {
	case !n.hasExtra:
		t.Extra = nil
	case t.Extra == nil || *t.Extra != n.extra:
		extra := n.extra
		t.Extra = &extra
	}
	own := n.Task
	own.Have &^= lacks
	n.of = &own
	return &n
}

// check refuses what no kernel says and what readers of samples rely on.
func (n *state) check() error {
	s := n.sample
	wrong := s.Migrations > sample.SourceBPF || s.Host.TicksPerSecond < 0 || s.Host.TicksPerSecond > 1<<20
	for i := range s.CPUs {
		wrong = wrong || !isCPU(s.CPUs[i].ID)
	}
	for _, t := range s.Tasks {
		wrong = wrong || t.MigrationSource > sample.SourceBPF || t.TID <= 0 || cpuset.CPU(t.LastCPU) != -1 && !isCPU(cpuset.CPU(t.LastCPU))
	}
	for _, v := range s.Moves {
		wrong = wrong || !isCPU(v.From) || !isCPU(v.To)
	}
	if wrong {
		return errDamaged
	}
	return nil
}

func isCPU(c cpuset.CPU) bool { return c >= 0 && c <= cpuset.MaxCPU }

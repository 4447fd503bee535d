package field

import (
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// extraColumns are what htop shows beside the rest; all but the faults and the class
// are read only where they are shown.
func extraColumns() []TaskColumn {
	return []TaskColumn{
		extraBytes(TaskColumn{ID: "virt_bytes", Title: "VIRT", Width: 6,
			Help: "virtual memory, in bytes with K, M, G of 1024"},
			func(e *sample.Extra) uint64 { return e.VirtPages }),
		extraBytes(TaskColumn{ID: "shared_bytes", Title: "SHR", Width: 5,
			Help: "resident memory that files or other processes share, in bytes with K, M, G of 1024"},
			func(e *sample.Extra) uint64 { return e.SharePages }),
		integer(TaskColumn{ID: "minor_faults", Title: "MINFLT", Width: 10, Desc: true,
			Help: "page faults in the task's life that needed no reading from storage"},
			func(r Row) (int64, bool) { return int64(r.Task().MinorFaults), true }),
		integer(TaskColumn{ID: "major_faults", Title: "MAJFLT", Width: 8, Desc: true,
			Help: "page faults in the task's life that needed reading from storage"},
			func(r Row) (int64, bool) { return int64(r.Task().MajorFaults), true }),
		ioRate(TaskColumn{ID: "read_bytes_per_s", Title: "READ/s", Width: 7,
			Help: "bytes a second read from storage, with K, M, G of 1024"},
			func(io *model.IO) float32 { return io.ReadPerS }),
		ioRate(TaskColumn{ID: "write_bytes_per_s", Title: "WRITE/s", Width: 8,
			Help: "bytes a second written to storage, with K, M, G of 1024"},
			func(io *model.IO) float32 { return io.WritePerS }),
		integer(TaskColumn{ID: "oom_score", Title: "OOM", Width: 5, Desc: true, Needs: needOOM, Missing: whyNot("OOM score"),
			Help: "how likely the OOM killer chooses the process, 0 never to 1000 and more first"},
			func(r Row) (int64, bool) {
				e := r.extra(sample.HaveOOM)
				return int64(e.OOMScore), e != &noExtra
			}),
		words(TaskColumn{ID: "unit", Title: "UNIT", Width: 20, all: needIdentity, Missing: whyIdentity,
			Help: "systemd unit or container of the process, from its control group; after the user's number, 1000/app.service, below a user's own manager"},
			func(r Row) string { return procfs.OwnerOf(r.identity().Cgroup) }),
		words(TaskColumn{ID: "wchan", Title: "WCHAN", Width: 16, Needs: needWait,
			Help:    "kernel function that the task sleeps in",
			Missing: func(Row) string { return "it is not asleep, or only its owner may look" }},
			func(r Row) string { return r.extra(sample.HaveWait).WaitChannel }),
		words(TaskColumn{ID: "class", Title: "CLS", Width: 4,
			Help: "scheduling class as ps has it: TS, FF, RR, B, IDL, DLN"},
			func(r Row) string {
				if r.group().PolicyDiffers && r.Sum() {
					return ""
				}
				return className(r.Task().Policy)
			}),
	}
}

func needMemory(n *sample.Needs) { n.Memory = true }
func needIO(n *sample.Needs)     { n.IO = true }
func needOOM(n *sample.Needs)    { n.OOM = true }
func needWait(n *sample.Needs)   { n.Wait = true }

var noExtra sample.Extra

// extra is what was read with the bit, else noExtra.
func (r Row) extra(bit sample.Have) *sample.Extra {
	if e := r.Task().Extra; e != nil && e.Have&bit != 0 {
		return e
	}
	return &noExtra
}

// extraBytes completes a column of an amount of memory that is counted in pages.
func extraBytes(c TaskColumn, pages func(*sample.Extra) uint64) TaskColumn {
	c.Desc, c.unit, c.Needs, c.Missing = true, sizes, needMemory, whyNot("memory")
	c = integer(c, func(r Row) (int64, bool) {
		e, page := r.extra(sample.HaveMemory), r.M.Sample.Host.PageBytes
		return int64(pages(e)) * int64(page), e != &noExtra && page > 0
	})
	return inBytes(c)
}

// inBytes shows a number as a size.
func inBytes(c TaskColumn) TaskColumn {
	num := c.num
	c.Append = func(dst []byte, r Row) []byte {
		if v := num(r); v == v {
			return appendBytes(dst, uint64(max(0, v)))
		}
		return appendNone(dst, r)
	}
	return c
}

func ioRate(c TaskColumn, get func(*model.IO) float32) TaskColumn {
	c.unit, c.Needs = sizes, needIO
	c = rate(c, func(r Row) float32 {
		if io := r.M.IO(r.I); io != nil {
			return get(io)
		}
		return model.Unknown
	})
	c.rate = false
	c.Missing = func(r Row) string {
		if r.Task().Extra != nil && r.Task().Extra.Have&sample.HaveIO == 0 {
			return "only its owner and root may read a task's I/O"
		}
		return whyRate(r)
	}
	return inBytes(c)
}

// className is the policy in the letters of ps(1).
func className(p kernel.Policy) string {
	switch p {
	case kernel.Other:
		return "TS"
	case kernel.FIFO:
		return "FF"
	case kernel.RR:
		return "RR"
	case kernel.Batch:
		return "B"
	case kernel.Idle:
		return "IDL"
	case kernel.Deadline:
		return "DLN"
	}
	return p.String()
}

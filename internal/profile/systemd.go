package profile

import (
	"fmt"
	"strings"
	"time"

	"piton/internal/change/attr/share"
	"piton/internal/kernel"
	"piton/internal/shell"
)

// DropIn is what makes a service start with a process's settings.
type DropIn struct {
	Unit string
	User bool // the unit is of a user's own manager
	Text []byte
}

// Systemd writes the drop-in by which a service starts with a process's settings
// (systemd.exec(5)). What systemd cannot say is in comments.
func Systemd(p UnitSettings) (DropIn, error) {
	unit, user, err := unitOf(p.Cgroup)
	if err != nil {
		return DropIn{}, fmt.Errorf("%s (%d): %w", comment(p.Comm), p.PID, err)
	}
	var b strings.Builder
	dir, manager := "/etc/systemd/system/", "systemctl"
	if user {
		dir, manager = "~/.config/systemd/user/", "systemctl --user"
	}
	fmt.Fprintf(&b, "# Settings of %s, by piton export systemd.\n# Put this into %s%s.d/50-piton.conf, then:\n", comment(p.Comm), dir, unit)
	fmt.Fprintf(&b, "#   %s daemon-reload && %s restart %s\n", manager, manager, shell.Word(unit))
	for _, o := range p.Others {
		fmt.Fprintf(&b, "# not in it: a thread's own values, %s\n", o)
	}
	b.WriteString("[Service]\n")
	if !p.AllCPUs {
		fmt.Fprintf(&b, "CPUAffinity=%s\n", p.CPUs)
	}
	if p.Nice != 0 {
		fmt.Fprintf(&b, "Nice=%d\n", p.Nice)
	}
	systemdPolicy(&b, p)
	systemdIO(&b, p.IOPrio)
	systemdMemory(&b, p.Memory)
	systemdGroup(&b, p)
	if text := b.String(); strings.HasSuffix(text, "[Service]\n") {
		return DropIn{}, fmt.Errorf("%s (%d) has no setting that differs from how systemd starts a service", comment(p.Comm), p.PID)
	}
	return DropIn{unit, user, stamped([]byte(b.String()))}, nil
}

func systemdPolicy(b *strings.Builder, p UnitSettings) {
	switch p.Policy.Policy {
	case kernel.Other:
	case kernel.Deadline, kernel.Ext:
		fmt.Fprintf(b, "# policy %s: systemd has no setting for it\n", p.Policy)
		return
	default:
		fmt.Fprintf(b, "CPUSchedulingPolicy=%s\n", strings.ToLower(p.Policy.Policy.String()))
	}
	if p.Policy.RTPrio > 0 {
		fmt.Fprintf(b, "CPUSchedulingPriority=%d\n", p.Policy.RTPrio)
	}
	if p.Policy.ResetOnFork {
		b.WriteString("CPUSchedulingResetOnFork=yes\n")
	}
}

func systemdIO(b *strings.Builder, prio kernel.IOPrio) {
	switch prio.Class {
	case kernel.IORealTime:
		fmt.Fprintf(b, "IOSchedulingClass=realtime\nIOSchedulingPriority=%d\n", prio.Level)
	case kernel.IOBestEffort:
		fmt.Fprintf(b, "IOSchedulingClass=best-effort\nIOSchedulingPriority=%d\n", prio.Level)
	case kernel.IOIdle:
		b.WriteString("IOSchedulingClass=idle\n")
	}
}

// systemdGroup writes the weight and the quota (systemd.resource-control(5)).
func systemdGroup(b *strings.Builder, p UnitSettings) {
	if w, ok := p.Weight.(share.Weight); ok && w != (share.Weight{Hundredths: 100 * 100}) {
		if on, err := w.On(true, w); err != nil {
			fmt.Fprintf(b, "# weight %s of version 1: %v\n", w, err)
		} else {
			fmt.Fprintf(b, "CPUWeight=%s\n", on)
		}
	}
	q, _ := p.Quota.(share.Quota)
	if q.Period != 0 && !q.None {
		fmt.Fprintf(b, "CPUQuota=%s\n", q.Percent())
		if q.Period != 100*time.Millisecond {
			fmt.Fprintf(b, "CPUQuotaPeriodSec=%s\n", strings.Replace(q.Period.String(), "µs", "us", 1))
		}
	}
	if q.Burst > 0 {
		fmt.Fprintf(b, "# burst %s: systemd has no setting for it\n", q.Burst)
	}
}

// systemdMemory translates the first word of a mapping's policy: bind:0-1,
// prefer:1, interleave:0-3, local, bind=static:0 (mpol_to_str in mm/mempolicy.c).
func systemdMemory(b *strings.Builder, policy string) {
	if policy == "" {
		return
	}
	mode, nodes, _ := strings.Cut(policy, ":")
	mode, flags, _ := strings.Cut(mode, "=")
	word := map[string]string{"bind": "bind", "prefer": "preferred", "interleave": "interleave", "local": "local"}[mode]
	switch {
	case word == "" || flags != "" || word != "local" && nodes == "":
		fmt.Fprintf(b, "# memory policy %s: systemd has no setting for it\n", policy)
	case word == "local":
		b.WriteString("NUMAPolicy=local\n")
	default:
		fmt.Fprintf(b, "NUMAPolicy=%s\nNUMAMask=%s\n", word, nodes)
	}
}

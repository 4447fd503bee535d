package ctxswitch

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"piton/workloads/internal/peer"
)

// Peer is the life of one process: args is the job that launch wrote, in lets it
// go by a byte, and out takes an empty line when it is ready and then its report.
// It returns the exit code.
func Peer(args []string, in *os.File, out io.Writer) int {
	debug.SetGCPercent(-1)
	peer.Room(1)
	runtime.LockOSThread() // for good
	lines := json.NewEncoder(out)
	run, r, err := prepare(args)
	if err != nil {
		_ = lines.Encode(report{Error: err.Error()})
		return 2
	}
	if _, err := out.Write([]byte{'\n'}); err != nil {
		return 1
	}
	var gate [1]byte
	if _, err := io.ReadFull(in, gate[:]); err != nil {
		return 1
	}
	begin := time.Now()
	if err := run(&r); err != nil {
		r.Error = err.Error()
	}
	r.Seconds = time.Since(begin).Seconds()
	if err := lines.Encode(r); err != nil || r.Error != "" {
		return 1
	}
	// The others may still need this end of the pipes.
	_, _ = io.ReadFull(in, gate[:])
	return 0
}

// prepare reads the job and gets all that it needs.
func prepare(args []string) (run func(*report) error, r report, err error) {
	if len(args) != 1 {
		return nil, r, fmt.Errorf("a process of ctxswitch takes one argument, not %d", len(args))
	}
	var j job
	if err := json.Unmarshal([]byte(args[0]), &j); err != nil {
		return nil, r, fmt.Errorf("read the job: %w", err)
	}
	if err := j.Validate(); err != nil {
		return nil, r, err
	}
	if j.Index < 0 || j.Index >= j.Procs {
		return nil, r, fmt.Errorf("there is no process %d of %d", j.Index, j.Procs)
	}
	r.Index = j.Index
	if j.Mode == Turns {
		run, err = j.turns()
		return run, r, err
	}
	link, err := newLink(j)
	if err != nil {
		return nil, r, err
	}
	memory := newFootprint(j.KiB)
	return func(r *report) error { return pass(j, link, memory, r) }, r, nil
}

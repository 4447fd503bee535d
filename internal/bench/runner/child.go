package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"piton/internal/bench"
	"piton/internal/child"
	"piton/internal/crash"
	"piton/workloads"
	"piton/workloads/workload"
)

// message is what a workload's process tells of its work.
type message struct {
	Answer  string          `json:"answer,omitempty"`
	Seconds float64         `json:"seconds,omitempty"`
	Value   float64         `json:"value,omitempty"` // what is compared
	Error   string          `json:"error,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// ChildMain is the whole life of a benchmark's process: args are the workload's name
// and its flags, gate is the pipe from the parent, and out the one to it. It returns
// the exit code; see child.Main.
func ChildMain(args []string, gate io.Reader, out io.Writer) int {
	return childMain(slices.Concat(workloads.All, workloads.OfStudies), args, gate, out)
}

func childMain(among []workload.Workload, args []string, gate io.Reader, out io.Writer) int {
	if len(args) > 1 && args[0] == bench.CommandWorkload {
		return commandMain(args[1:], out)
	}
	return child.Main(gate, out, func(c *child.Child) error {
		switch {
		case len(args) == 1 && args[0] == noiseWord:
			return spin(c)
		case len(args) == 2 && args[0] == workload.PeerWord:
			w, err := workload.Find(among, args[1])
			if err == nil && w.Process == nil {
				err = fmt.Errorf("workload %s has no further processes", w.Name)
			}
			if err != nil {
				return err
			}
			return w.Process(c)
		}
		endless := len(args) > 1 && args[1] == endlessWord
		if endless {
			args = slices.Delete(slices.Clone(args), 1, 2)
		}
		w, values, err := parseChild(among, args)
		if err != nil {
			return err
		}
		one := func(ctx context.Context) message { return run(ctx, w, values) }
		if endless {
			if one, err = repeated(one); err != nil {
				return err
			}
		}
		return work(c, one)
	})
}

// work works when it is told to. The threads stay alive until the process is released,
// so that the parent can read their counters.
func work(c *child.Child, do func(context.Context) message) error {
	if err := c.Ready(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan message, 1)
	go func() { defer crash.Handle(); done <- do(ctx) }()
	select {
	case result := <-done:
		return c.Tell(result)
	case <-c.Closed(): // the parent is gone: do not finish the work first
		return io.ErrUnexpectedEOF
	}
}

func parseChild(among []workload.Workload, args []string) (workload.Workload, workload.Values, error) {
	if len(args) == 0 {
		return workload.Workload{}, nil, fmt.Errorf("the name of a workload is missing")
	}
	w, err := workload.Find(among, args[0])
	if err == nil && w.Run == nil {
		err = fmt.Errorf("workload %s is run by its study only", w.Name)
	}
	if err != nil {
		return w, nil, err
	}
	values, err := w.Parse(args[1:])
	if err == nil {
		err = w.Validate(values)
	}
	return w, values, err
}

func run(ctx context.Context, w workload.Workload, values workload.Values) message {
	outcome, err := w.Run(ctx, values)
	m := message{Answer: outcome.Answer, Seconds: outcome.Seconds, Value: outcome.Seconds}
	if w.Metric != (workload.Metric{}) {
		m.Value = outcome.Value
	}
	if err != nil {
		m.Error = err.Error()
	}
	if detail, err := json.Marshal(outcome.Detail); err == nil {
		m.Detail = detail
	}
	return m
}

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"piton/workloads"
	"piton/workloads/workload"
)

// The child and its parent talk in three steps. The child prints a line of type
// "ready" and waits; the parent places it and writes one byte. The child works,
// prints a line of type "result" and waits again, all its threads alive, while
// the parent reads its counters; then the parent closes the pipe. If the pipe
// closes earlier, the parent is gone and so is the child.

// message is one line from the child.
type message struct {
	Type    string          `json:"type"` // "ready" or "result"
	Answer  string          `json:"answer,omitempty"`
	Seconds float64         `json:"seconds,omitempty"`
	Value   float64         `json:"value,omitempty"` // what is compared
	Error   string          `json:"error,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// ChildMain is the whole life of a workload's process: args are its name and
// its flags, gate is the pipe from the parent, and out takes the two lines. It
// returns the exit code: 0 done, 1 failed or wrong, 2 bad arguments.
func ChildMain(args []string, gate *os.File, out io.Writer) int {
	if len(args) == 1 && args[0] == noiseWord {
		return noiseMain(gate)
	}
	if len(args) > 1 && args[0] == CommandWorkload {
		return commandMain(args[1:], out)
	}
	if len(args) > 1 && args[0] == workload.PeerWord {
		return peerMain(workloads.All, args[1:], gate, out)
	}
	return childMain(workloads.All, args, gate, out)
}

func childMain(among []workload.Workload, args []string, gate io.Reader, out io.Writer) int {
	lines := json.NewEncoder(out)
	w, values, err := parseChild(among, args)
	if err != nil {
		_ = lines.Encode(message{Type: "result", Error: err.Error()})
		return 2
	}
	opened, closed := watchGate(gate)
	if err := lines.Encode(message{Type: "ready"}); err != nil {
		return 1
	}
	select {
	case <-opened:
	case <-closed:
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan message, 1)
	go func() { done <- work(ctx, w, values) }()
	select {
	case result := <-done:
		if err := lines.Encode(result); err != nil {
			return 1
		}
		<-closed
		if result.Error != "" {
			return 1
		}
		return 0
	case <-closed: // the parent is gone: do not finish the work first
		return 1
	}
}

func parseChild(among []workload.Workload, args []string) (workload.Workload, workload.Values, error) {
	if len(args) == 0 {
		return workload.Workload{}, nil, fmt.Errorf("the name of a workload is missing")
	}
	w, err := workload.Find(among, args[0])
	if err != nil {
		return workload.Workload{}, nil, err
	}
	values, err := w.Parse(args[1:])
	if err != nil {
		return workload.Workload{}, nil, err
	}
	return w, values, w.Check(values)
}

// watchGate closes opened at the first byte and closed at the second or at the
// end of the pipe. Its goroutine ends with the pipe, that is with the process.
func watchGate(gate io.Reader) (opened, closed chan struct{}) {
	opened, closed = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		var b [1]byte
		if _, err := io.ReadFull(gate, b[:]); err != nil {
			return
		}
		close(opened)
		_, _ = io.ReadFull(gate, b[:])
	}()
	return opened, closed
}

func work(ctx context.Context, w workload.Workload, values workload.Values) message {
	outcome, err := w.Run(ctx, values)
	m := message{Type: "result", Answer: outcome.Answer, Seconds: outcome.Seconds, Value: outcome.Seconds}
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

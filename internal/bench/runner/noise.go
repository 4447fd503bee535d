package runner

import (
	"context"
	"runtime"

	"piton/internal/child"
)

// noiseWord is the command line of a process of background load.
const noiseWord = "noise"

// spin keeps a CPU busy until the process is released.
func spin(c *child.Child) error {
	for x := uint64(1); ; {
		for range 1 << 20 { // about a millisecond
			x = x*6364136223846793005 + 1442695040888963407
		}
		select {
		case <-c.Closed():
			runtime.KeepAlive(x) // so that the loop is not left out
			return nil
		default:
			runtime.Gosched() // who waits for the end needs a turn where there is one CPU
		}
	}
}

// noise is the background load of a study: processes that are always busy and
// that the kernel may put on any CPU.
type noise []*child.Process

// startNoise starts n of them. They end with the thread that calls, which has to
// stay locked until stop; see kernel.DieWithParent.
func (r *Runner) startNoise(n int) (noise, error) {
	var all noise
	for range n {
		p, err := child.Start(context.Background(), child.Command{Name: "background load", Argv: r.command(noiseWord), Env: r.Env, Mute: true})
		if err != nil {
			all.stop()
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (all noise) stop() {
	for _, p := range all {
		_, _ = p.End(true)
	}
}

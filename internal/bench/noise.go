package bench

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"piton/internal/kernel"
)

// noiseWord is the command line of a process of background load.
const noiseWord = "noise"

// MaxNoise is how many processes of background load a study may have.
const MaxNoise = 1024

// noiseMain spins until the pipe from the parent ends.
func noiseMain(gate io.Reader) int {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, gate)
	}()
	for x := uint64(1); ; {
		for range 1 << 20 { // about a millisecond
			x = x*6364136223846793005 + 1442695040888963407
		}
		select {
		case <-done:
			runtime.KeepAlive(x) // so that the loop is not left out
			return 0
		default:
			runtime.Gosched() // the reader needs a turn where there is one CPU
		}
	}
}

// noise is the background load of a study: processes that are always busy and
// that the kernel may put on any CPU.
type noise []*exec.Cmd

// startNoise starts n of them. They end with the thread that calls, which has to
// stay locked until stop; see kernel.DieWithParent.
func (r *Runner) startNoise(n int) (noise, error) {
	var all noise
	for range n {
		cmd := exec.Command(r.Command[0], append(append([]string{}, r.Command[1:]...), noiseWord)...)
		cmd.Env = r.Env
		kernel.DieWithParent(cmd)
		_, err := cmd.StdinPipe() // closed by Wait and, if this process ends, by the kernel
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			all.stop()
			return nil, fmt.Errorf("start background load: %w", err)
		}
		all = append(all, cmd)
	}
	return all, nil
}

func (all noise) stop() {
	for _, cmd := range all {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
	}
}

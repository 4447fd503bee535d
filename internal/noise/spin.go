package noise

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// record is what the process that spins writes of each gap; with CPU lostMark, how many it lost, and
// with readyMark, once, the least gap that all note.
type record struct{ CPU, At, Length uint64 }

const (
	lostMark  = math.MaxUint64
	readyMark = math.MaxUint64 - 1
)

// spinTick is how often gaps are handed over.
const spinTick = 50 * time.Millisecond

// Spin is the main function of the process that spins on CPUs. It ends with its input.
func Spin(in io.Reader, out io.Writer, cpus cpuset.Set) error {
	child.ThreadRoom(cpus.Len())
	all := make([]*kernel.Spinner, cpus.Len())
	failed := make(chan error, cpus.Len())
	for i, cpu := range cpus.CPUs() {
		all[i] = &kernel.Spinner{}
		go func() {
			runtime.LockOSThread()
			if err := kernel.System().SetAffinity(0, cpuset.Of(cpu)); err != nil {
				failed <- fmt.Errorf("watch CPU %d: %w", cpu, err)
				return
			}
			all[i].Spin(Least)
		}()
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
	var gaps []kernel.Gap
	var bytes []byte
	told := false
	for {
		select {
		case err := <-failed:
			return err
		case <-time.After(spinTick):
		}
		var least time.Duration
		ready := true
		bytes = bytes[:0]
		for i, cpu := range cpus.CPUs() {
			var lost uint64
			gaps, lost = all[i].Take(gaps[:0])
			for _, g := range gaps {
				bytes = appendRecord(bytes, record{uint64(cpu), uint64(g.At), uint64(g.Length)})
			}
			if lost > 0 {
				bytes = appendRecord(bytes, record{CPU: lostMark, Length: lost})
			}
			ready = ready && all[i].Ready()
			least = max(least, Least, 3*all[i].Step)
		}
		if ready && !told {
			told = true
			bytes = appendRecord(bytes, record{CPU: readyMark, Length: uint64(least)})
		}
		if _, err := out.Write(bytes); err != nil {
			return err
		}
	}
}

func appendRecord(to []byte, r record) []byte {
	for _, n := range []uint64{r.CPU, r.At, r.Length} {
		to = binary.NativeEndian.AppendUint64(to, n)
	}
	return to
}

// spinning is the process that spins, as its parent has it.
type spinning struct {
	pid   kernel.TID
	least time.Duration

	cmd    *exec.Cmd
	in     io.Closer
	errors bytes.Buffer

	mu   sync.Mutex
	gaps []Gap
	lost uint64
	err  error
}

// spinStart bounds how long it may take until all threads spin.
const spinStart = 10 * time.Second

func startSpinning(verb string, env []string, cpus cpuset.Set) (*spinning, error) {
	s := &spinning{cmd: exec.Command("/proc/self/exe", verb, cpus.String())}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = append(env, "GODEBUG=asyncpreemptoff=1"), "/", &s.errors
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := kernel.Start(s.cmd); err != nil {
		return nil, err
	}
	s.in, s.pid = in, kernel.TID(s.cmd.Process.Pid)
	ready := make(chan struct{})
	go s.receive(out, ready)
	select {
	case <-ready:
	case <-time.After(spinStart):
	}
	s.mu.Lock()
	started := s.least > 0
	s.mu.Unlock()
	if !started {
		return nil, fmt.Errorf("the process that spins on the CPUs did not begin within %s%s", spinStart, s.end())
	}
	return s, nil
}

func (s *spinning) receive(from io.Reader, ready chan struct{}) {
	told := false
	defer func() {
		if !told {
			close(ready)
		}
	}()
	buffered := bufio.NewReader(from)
	for {
		var r record
		if err := binary.Read(buffered, binary.NativeEndian, &r); err != nil {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			return
		}
		s.mu.Lock()
		switch r.CPU {
		case lostMark:
			s.lost += r.Length
		case readyMark:
			s.least, told = time.Duration(r.Length), true
			close(ready)
		default:
			s.gaps = append(s.gaps, Gap{CPU: cpuset.CPU(r.CPU), At: time.Duration(r.At), Length: time.Duration(r.Length)})
		}
		s.mu.Unlock()
	}
}

// take returns what came since the last call.
func (s *spinning) take() (gaps []Gap, lost uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gaps, lost, s.gaps, s.lost = s.gaps, s.lost, nil, 0
	if s.err != nil {
		return nil, 0, fmt.Errorf("the process that spins on the CPUs has ended: %s", bytes.TrimSpace(s.errors.Bytes()))
	}
	return gaps, lost, nil
}

// end ends the process, which has nothing to lose, and returns what it had to say: ": TEXT" or "".
func (s *spinning) end() string {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
	_ = s.in.Close()
	if text := bytes.TrimSpace(s.errors.Bytes()); len(text) > 0 {
		return ": " + string(text)
	}
	return ""
}

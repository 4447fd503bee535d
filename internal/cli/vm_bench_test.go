package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVMHotplugDuringBench takes a CPU away in the middle of a study that has a
// placement on it, and gives it back: runs there fail or are reported as touched,
// all others are kept, and the study goes on to its end.
func TestVMHotplugDuringBench(t *testing.T) {
	s := needVM(t)
	last := s.cpus - 1
	power := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", last)
	t.Cleanup(func() { _ = os.WriteFile(power, []byte("1"), 0) })
	const runs = 12
	h := newHome(t)
	cmd := h.program("bench", "nqueens", "-n", "9", "--place", "normal", "--place", fmt.Sprintf("cpu:%d", last), "--runs", fmt.Sprint(runs), "--warmup", "0", "-o", "csv")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	lines := csv.NewReader(out)
	heading, err := lines.Read()
	require.NoError(t, err)
	column := map[string]int{}
	for i, name := range heading {
		column[name] = i
	}
	away, seen, bad := false, 0, 0
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		seen++
		failed := line[column["error"]] != "" || line[column["touched"]] == "true"
		if line[column["placement"]] == "normal" {
			assert.Empty(t, line[column["error"]])
			assert.Equal(t, "352", line[column["answer"]])
		} else if failed {
			bad++
			t.Log(line[column["error"]], line[column["touched"]])
		}
		switch {
		case seen == 3 && !away:
			write(t, power, "0")
			away = true
		case failed && away:
			write(t, power, "1")
			away = false
		}
	}
	_ = cmd.Wait()
	assert.Equal(t, 2*runs, seen, "the study went on to its end")
	assert.Positive(t, bad, "what ran on that CPU is reported")
	assert.Less(t, bad, runs, "runs before and after are kept")
	kept := h.run("bench", "report", "-o", "csv")
	require.Zero(t, kept.code, kept.err)
	table := h.run("bench", "report")
	assert.Contains(t, table.out, "left out", "the table says so")
}

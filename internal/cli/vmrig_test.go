package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vmRig boots the machines that are described beside the repository.
type vmRig struct {
	program string
	copies  []string // options: the programs that each guest is given
}

// needRig skips where make vmtest does not run, or the rig is not at hand. The
// programs are built for the guests: "piton", or "NAME.test" of internal/NAME.
func needRig(t *testing.T, programs ...string) (r vmRig) {
	t.Helper()
	if os.Getenv("PITON_VM") == "" {
		t.Skip("make vmtest runs it")
	}
	var err error
	r.program, err = filepath.Abs("../../../shared/vm/run")
	require.NoError(t, err)
	if _, err := os.Stat(r.program); err != nil {
		t.Skip("the machine is described beside the repository, which is not there: ", err)
	}
	dir := t.TempDir()
	for _, name := range programs {
		file := filepath.Join(dir, name)
		build := exec.Command("go", "build", "-o", file, "piton/cmd/piton")
		if tested, ok := strings.CutSuffix(name, ".test"); ok {
			build = exec.Command("go", "test", "-c", "-o", file, "piton/internal/"+tested)
		}
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		r.copies = append(r.copies, "--copy", file)
	}
	return r
}

// boot runs a script in a guest made with the rig's options, and makes sure that it
// succeeded and these tests ran in it. All CPUs of a guest are one of the host's, and
// stand still for seconds while that is busy: a guest that fails is booted once more,
// for what has not passed, and that is recorded.
func (r vmRig) boot(t *testing.T, script string, options []string, tests ...string) {
	t.Helper()
	options = append(append(options, r.copies...), "--")
	out, err := r.once(t, append(options, script))
	if err != nil {
		recordRetry(t, out, err)
		var again string
		again, err = r.once(t, append(options, notPassed(script, out)))
		out += again
	}
	require.NoError(t, err)
	for _, name := range tests {
		assert.Contains(t, out, "--- PASS: "+name+" ", "it ran, and was not skipped")
	}
}

// once runs a guest to its end and logs each line when it comes.
func (r vmRig) once(t *testing.T, options []string) (out string, err error) {
	t.Helper()
	cmd := exec.Command(r.program, options...)
	lines := &lineLog{t: t, began: time.Now()}
	cmd.Stdout, cmd.Stderr = lines, lines
	err = cmd.Run()
	t.Logf("took %v %s", time.Since(lines.began).Round(time.Second), lines.rest)
	return lines.all.String(), err
}

// lineLog logs the lines that are written to it, with the seconds since it began.
type lineLog struct {
	t     *testing.T
	began time.Time
	all   strings.Builder
	rest  []byte // of a line
}

func (l *lineLog) Write(b []byte) (int, error) {
	l.all.Write(b)
	l.rest = append(l.rest, b...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		l.t.Logf("%4.0f s  %s", time.Since(l.began).Seconds(), line)
		l.rest = rest
	}
}

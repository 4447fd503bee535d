package recordcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/watchcmd"
	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/record"
	"piton/internal/sample"
	"piton/internal/userfile"
)

type replayOptions struct {
	headless bool
	at       string
	monitor  watchcmd.Monitor
}

func newReplay(a *app.App) *cobra.Command {
	o := replayOptions{monitor: watchcmd.NewMonitor()}
	cmd := &cobra.Command{
		Use:   "replay FILE --headless",
		Short: "print a record as it was printed live",
		Long: `Print the samples of a record that piton record wrote, as piton --headless prints those of now: rates, migrations and
columns are computed from the same figures by the same code.

--at begins at a time: 03:12, 03:12:30, "2026-11-29 03:12" or 2026-11-29T03:12:30Z. Without a date it is the first such
time in the record, in the zone of the machine that recorded.
A damaged part is passed over, and what follows begins anew: its first sample has no rates and is not printed.`,
		Example: "  piton replay web.piton --headless\n  piton replay web.piton --headless --at 03:12 -n 60 -o json\n  piton replay web.piton --headless --at 03:12 -n 1 --sort mig --filter 'mig>10'",
		GroupID: app.GroupLook,
		Args:    flags.OneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.headless {
				return exit.Usagef("missing --headless: piton replay prints a record and has no screen")
			}
			return runReplay(cmd.Context(), a, args[0], &o)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.headless, "headless", false, "print samples")
	fs.StringVar(&o.at, "at", "", "begin at this `TIME` (default: the beginning)")
	o.monitor.AddReplayFlags(fs)
	fs.SortFlags = false
	return cmd
}

func runReplay(ctx context.Context, a *app.App, path string, o *replayOptions) error {
	t, err := open(path)
	if err != nil {
		return err
	}
	defer t.close()
	from := time.Time{}
	if o.at != "" {
		if from, err = parseAt(o.at, t.begins); err != nil {
			return err
		}
	}
	cpus := func(flag, expr string) (cpuset.Set, error) {
		set, err := app.CPUsOf(expr, t.reader.Topology())
		if err != nil {
			err = fmt.Errorf("%s: %w", flag, err)
		}
		return set, err
	}
	if err := o.monitor.LimitCPUs(cpus); err != nil {
		return err
	}
	err = o.monitor.Print(ctx, a, func(ctx context.Context, _ sample.Needs, _ sample.EBPF, on app.OnSample) error {
		return t.play(ctx, from, on)
	})
	if t.damaged > 0 {
		a.Warn("%s: damaged parts that were passed over: %d", path, t.damaged)
	}
	return err
}

// tape is a record in one file or a row of them.
type tape struct {
	paths   []string // that are left
	file    *os.File
	reader  *record.Reader
	begins  time.Time // the record, in its zone
	damaged int
}

// open opens the record at its beginning.
func open(path string) (*tape, error) {
	t := &tape{paths: []string{path}}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if row, err := rowOf(path); err == nil && len(row) > 0 {
			t.paths = row
		}
	}
	all := t.paths
	if err := t.next(); err != nil {
		return nil, err
	}
	s, _, err := t.reader.Next()
	if err != nil {
		t.close()
		return nil, fmt.Errorf("%s: %w", path, record.ErrNoRecord)
	}
	t.begins, t.paths = s.Wall, all
	return t, nil
}

// seek goes to the file that has the time, or the one before it if there is one.
func (t *tape) seek(from time.Time) error {
	at := 0
	for i, path := range t.paths {
		if began, err := time.Parse(stamp, path[max(0, len(path)-len(stamp)):]); err == nil && !began.After(from) {
			at = i
		}
	}
	t.paths = t.paths[max(at-1, 0):]
	err := t.next()
	if err == nil {
		t.reader.Seek(from, warmUp)
	}
	return err
}

// next opens the next file of which something can be read.
func (t *tape) next() error {
	t.close()
	path := t.paths[0]
	t.paths = t.paths[1:]
	file, size, err := userfile.Open(path)
	if err != nil {
		return err
	}
	t.file = file
	t.reader, err = record.NewReader(file, size)
	switch {
	case errors.Is(err, record.ErrNoRecord) && len(t.paths) > 0:
		t.damaged++
		return t.next()
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// more goes to the next file of the row, if there is one that can be read.
func (t *tape) more() (bool, error) {
	if len(t.paths) == 0 {
		return false, nil
	}
	err := t.next()
	if errors.Is(err, record.ErrNoRecord) {
		t.damaged++
		return false, nil
	}
	return err == nil, err
}

func (t *tape) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
}

// warmUp is how many blocks are read before what is asked for: more than the ticks that
// histories have.
const warmUp = 2

// play calls on with the models of the samples from a time on.
func (t *tape) play(ctx context.Context, from time.Time, on app.OnSample) error {
	if err := t.seek(from); err != nil {
		return err
	}
	var m *model.Model
	var last time.Time
	shown := false
	for ctx.Err() == nil {
		s, joined, err := t.reader.Next()
		switch {
		case err == io.EOF:
			t.damaged += t.reader.Damaged()
			switch more, err := t.more(); {
			case err != nil:
				return err
			case more:
				continue
			case !shown:
				return fmt.Errorf("the record has no sample from %s on: it is from %s to %s", clock(from), clock(t.begins), clock(last))
			}
			return nil
		case err != nil:
			return err
		}
		if !joined && (m == nil || s.Seq != m.Sample.Seq+1 || s.At <= m.Sample.At) {
			m = nil
		}
		m = model.Next(m, s, t.reader.Topology())
		last = s.Wall
		if s.Wall.Before(from) {
			continue
		}
		shown = true
		if more, err := on(m); err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

func clock(t time.Time) string { return t.Format(time.DateTime) }

// parseAt reads a time; begins is when the record does, in its zone.
func parseAt(text string, begins time.Time) (time.Time, error) {
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			y, m, d := begins.Date()
			at := time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, begins.Location())
			if at.Add(time.Minute).Before(begins) {
				at = at.AddDate(0, 0, 1)
			}
			return at, nil
		}
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, begins.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exit.Usagef("--at is %q: it must be a time such as 03:12 or \"2026-11-29 03:12:30\"", text)
}

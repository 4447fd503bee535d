package recordcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/field"
	"piton/internal/record"
	"piton/internal/sample"
)

type recordOptions struct {
	file     string
	interval flags.Interval
	length   flags.Interval // 0 = until ^C
	keep     flags.Interval // 0 = all
	most     size           // 0 = no limit
	names    flags.Choice
}

const longest = 10 * 365 * 24 * time.Hour

func newRecord(a *app.App) *cobra.Command {
	o := recordOptions{
		interval: flags.Interval{Duration: time.Second, Min: 100 * time.Millisecond, Max: time.Minute},
		length:   flags.Interval{Min: time.Second, Max: longest},
		keep:     flags.Interval{Min: time.Minute, Max: longest},
		names:    flags.Choice{Value: string(record.NamesFull), Among: []string{string(record.NamesFull), string(record.NamesComm)}},
	}
	cmd := &cobra.Command{
		Use:   "record -o FILE",
		Short: "record what the process table shows, for piton replay",
		Long: `Record samples of all processes and CPUs to a new file until ^C or the end of --for. piton replay prints them as
piton --headless would have. Only the user who records can read the file (mode 0600).

Command lines may hold secrets: --names comm leaves them and the paths of programs out.
Each sample is written when it is taken: kill -9 loses at most one. A full disk ends the recording, and what was
written is kept.

With --keep or --max the record is a row of files, FILE.DATE-TIME (UTC), of which the oldest are deleted whole;
piton replay FILE plays them as one. Each has a 24th of what is kept.`,
		Example: "  piton record -o web.piton\n  piton record -o web.piton --for 1h -d 500ms\n  piton record -o /var/log/web.piton --keep 24h --max 500M --names comm",
		GroupID: app.GroupLook,
		Args:    flags.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runRecord(cmd.Context(), a, &o) },
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.file, "output", "o", "", "new `FILE` to record to")
	fs.VarP(&o.interval, "delay", "d", "time between samples, 100ms to 1m")
	fs.Var(&o.length, "for", "end after so long (default: at ^C)")
	fs.Var(&o.keep, "keep", "keep at least so long, and delete what is older")
	fs.Var(&o.most, "max", "keep at most so many bytes, 1M or more: 500M, 2G")
	fs.Var(&o.names, "names", "comm leaves out command lines and paths of programs")
	fs.SortFlags = false
	return cmd
}

// needs is what samples have to hold for what the screen and --headless show unasked.
func needs() sample.Needs {
	columns, _ := field.Select(field.JSON) // they are there
	n := field.Needs(columns, nil)
	n.Identity, n.PingPongs = true, true
	return n
}

func runRecord(ctx context.Context, a *app.App, o *recordOptions) error {
	if o.file == "" {
		return exit.Usagef("missing -o: use -o FILE")
	}
	topo, err := a.Topology()
	if err != nil {
		return err
	}
	f := &files{path: o.file, options: record.Options{Version: app.Version(), Names: record.Names(o.names.Value), Topology: topo},
		keep: o.keep.Duration, most: int64(o.most)}
	if err := f.next(time.Now()); err != nil {
		return err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	err = a.Samples(ctx, o.interval.Duration, needs(), sample.EBPFNow, func(s *sample.Sample) (bool, error) {
		if f.samples == 0 {
			for _, fault := range s.Faults() {
				a.Warn("%s", fault)
			}
		}
		err := f.write(s)
		return o.length.Duration == 0 || s.At+o.interval.Duration <= o.length.Duration, err
	})
	err = errors.Join(err, f.close())
	if f.samples == 0 {
		return errors.Join(err, os.Remove(f.name))
	}
	fmt.Fprintf(a, "%s: %d samples, %.1f kB\n", field.Clean(o.file), f.samples, float64(f.bytes)/1e3)
	return err
}

// size is a flag of bytes, 500M.
type size int64

func (s *size) Type() string { return "size" }
func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s), 10)
}
func (s *size) Set(text string) error {
	digits := strings.TrimRight(text, "KMGT")
	unit := map[string]int64{"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[text[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 1 || unit == 0 {
		return errors.New("it must be a size such as 500M or 2G")
	}
	*s = size(n * unit)
	return nil
}

// files are what a recording is written to: one, or a row of them of which the oldest go.
type files struct {
	path    string
	options record.Options
	keep    time.Duration // 0 = no limit
	most    int64         // bytes, 0 = no limit

	name    string // of the last one
	file    *os.File
	writer  *record.Writer
	began   time.Time // the file
	size    int64     // of the file
	samples int
	bytes   int64 // of all
}

// pieces is how many files a row has at most, about.
const pieces = 24

// write writes a sample, to a new file if it is time for one.
func (f *files) write(s *sample.Sample) error {
	full := f.keep > 0 && s.Wall.Sub(f.began) >= max(f.keep/pieces, time.Minute) || f.most > 0 && f.size >= f.most/pieces
	if full {
		if err := errors.Join(f.close(), f.next(s.Wall)); err != nil {
			return f.ended(err)
		}
	}
	whole := f.size
	if err := f.writer.Write(s); err != nil {
		_ = f.file.Truncate(whole) // else a reader passes over what is there of the sample
		return f.ended(err)
	}
	f.samples++
	return nil
}

// Write counts what the file takes.
func (f *files) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	f.size += int64(n)
	f.bytes += int64(n)
	return n, err
}

func (f *files) close() error {
	file := f.file
	if f.file = nil; file == nil {
		return nil
	}
	return file.Close()
}

// ended says why no more is recorded.
func (f *files) ended(err error) error {
	return fmt.Errorf("recording ended after %d samples, which are kept: %w", f.samples, err)
}

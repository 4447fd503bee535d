package cli

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"piton/internal/bench"
)

// benchOutput prints a study as it goes.
type benchOutput struct {
	a      *app
	format string
	shown  int   // cells of the progress line
	err    error // of writing a run
}

func (o *benchOutput) begin(s bench.Study) error {
	if o.format != asCSV {
		return nil
	}
	return o.csv([]string{"study", "workload", "placement", "index", "work_s", "wall_s", "user_s", "sys_s", "migrations",
		"migration_source", "run_delay_ns", "voluntary_switches", "involuntary_switches", "max_rss_bytes", "cpus", "answer", "touched", "error", "value"})
}

// event prints a run that ended, and how far the study is.
func (o *benchOutput) event(e bench.Event) {
	o.progress(e)
	if e.Kind != bench.RunEnded || o.err != nil {
		return
	}
	switch o.format {
	case asJSON:
		o.err = o.json(bench.RunJSON(e.Study, e.Run))
	case asCSV:
		o.err = o.csv(csvRun(e.Study, e.Run))
	}
}

// progress rewrites one line on a terminal.
func (o *benchOutput) progress(e bench.Event) {
	if !isTerminal(o.a.Err) {
		return
	}
	text := fmt.Sprintf("run %d of %d: %s", min(e.Done+1, e.Total), e.Total, e.Run.Placement)
	if e.HaveLeft {
		text += fmt.Sprintf(", %v left", e.Left.Round(time.Second))
	}
	fmt.Fprintf(o.a.Err, "\r%-*s", o.shown, text)
	o.shown = len(text)
}

// end prints what the study found.
func (o *benchOutput) end(r bench.Results) error {
	if o.shown > 0 {
		fmt.Fprintf(o.a.Err, "\r%*s\r", o.shown, "")
	}
	if r.StoreErr != nil {
		o.a.warn("results are not kept: %v", r.StoreErr)
	}
	report := bench.Judge(r)
	switch o.format {
	case asJSON:
		if err := o.json(bench.StudyJSON(r)); err != nil {
			return err
		}
		for _, c := range report.Comparisons {
			if err := o.json(bench.ComparisonJSON(r.ID, r.Study.Workload, c)); err != nil {
				return err
			}
		}
		return nil
	case asCSV:
		return nil
	}
	if err := bench.WriteTable(o.a.Out, report); err != nil {
		return err
	}
	return o.picture(r)
}

// pictureWidth is how wide a picture is that goes to no terminal.
const pictureWidth = 100

// picture prints what the workload itself has to show, below the table.
func (o *benchOutput) picture(r bench.Results) error {
	width := pictureWidth
	if f, ok := o.a.Out.(*os.File); ok {
		if columns, _, err := term.GetSize(f.Fd()); err == nil && columns > 0 {
			width = columns
		}
	}
	lines, err := r.Picture(width)
	if err != nil || len(lines) == 0 {
		return err
	}
	_, err = fmt.Fprintf(o.a.Out, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

func (o *benchOutput) json(b []byte, err error) error {
	if err != nil {
		return fmt.Errorf("print a result: %w", err)
	}
	_, err = o.a.Out.Write(append(escapeControls(b), '\n'))
	return err
}

func (o *benchOutput) csv(record []string) error {
	w := csv.NewWriter(o.a.Out)
	if err := w.Write(record); err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

func csvRun(study string, r bench.RunResult) []string {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) }
	number := func(v uint64, have bool) string {
		if !have {
			return ""
		}
		return strconv.FormatUint(v, 10)
	}
	return []string{study, r.Workload, string(r.Placement), strconv.Itoa(r.Index), strconv.FormatFloat(r.Seconds, 'f', 6, 64),
		seconds(r.Wall), seconds(r.User), seconds(r.System), number(r.Migrations, r.HaveMigrations()), r.MigrationSource,
		number(uint64(r.RunDelay.Nanoseconds()), r.HaveRunDelay), number(r.Voluntary, true), number(r.Involuntary, true),
		number(r.MaxRSSBytes, true), r.CPUs, r.Answer, strconv.FormatBool(r.Touched), r.Err, strconv.FormatFloat(r.Metric, 'f', 6, 64)}
}

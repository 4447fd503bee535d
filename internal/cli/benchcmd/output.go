package benchcmd

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/output"
	"piton/internal/report"
)

// benchOutput prints a study while it runs and at its end.
type benchOutput struct {
	a          *app.App
	format     string
	store      *store.Store // with the studies before this one; may be nil
	study      bench.Study
	forecasted bool // how long the study takes has been printed
	line       progressLine
	err        error // of writing a run
}

// Formats of results beyond those of other commands.
const (
	asMarkdown = "markdown"
	asSVG      = "svg"
	asHTML     = "html"
)

var benchFormats = []string{output.AsTable, output.AsJSON, output.AsCSV, asMarkdown, asSVG, asHTML}

func (o *benchOutput) begin() error {
	if o.format != output.AsCSV {
		return nil
	}
	return o.csv([]string{"study", "workload", "placement", "index", "work_s", "wall_s", "user_s", "sys_s", "migrations",
		"migration_source", "run_delay_ns", "voluntary_switches", "involuntary_switches", "max_rss_bytes", "cpus", "answer", "touched", "error", "value"})
}

// forecast prints to a terminal how long the study takes, if stored results have it; else
// the first run gives it.
func (o *benchOutput) forecast(host string) {
	h, err := o.store.Read()
	if err != nil {
		return // end reports it
	}
	if f, ok := o.study.Forecast(h.On(host)); ok {
		o.printForecast(f)
	}
}

func (o *benchOutput) printForecast(f bench.Forecast) {
	if o.forecasted = true; !app.IsTerminal(o.a.Err) {
		return
	}
	o.line.clear(o.a.Err)
	fmt.Fprintln(o.a.Err, strings.TrimPrefix(o.study.Length()+": ", ": ")+f.Sentence())
	if text := o.study.ShortRuns(f.Work); text != "" {
		o.a.Warn("%s", text)
	}
}

// event prints a run that ended, and the progress of the study.
func (o *benchOutput) event(e bench.Event) {
	if e.Ended && !o.forecasted {
		o.printForecast(o.study.Paced(time.Since(e.Run.Started), e.Run.Seconds))
	}
	o.progress(e)
	if !e.Ended || o.err != nil {
		return
	}
	switch o.format {
	case output.AsJSON:
		o.err = o.json(store.RunJSON(e.Study, e.Run))
	case output.AsCSV:
		o.err = o.csv(csvRun(e.Study, e.Run))
	}
}

func (o *benchOutput) progress(e bench.Event) {
	text := fmt.Sprintf("run %d of %d: %s", min(e.Done+1, e.Total), e.Total, e.Run.Placement)
	if e.HaveLeft {
		text += fmt.Sprintf(", about %s left", chart.Clock(e.Left))
	}
	o.line.show(o.a.Err, text)
}

// end prints what the study found.
func (o *benchOutput) end(r bench.Results) error {
	o.line.clear(o.a.Err)
	if r.StoreErr != nil {
		o.a.Warn("results not stored: %v", r.StoreErr)
	}
	var before *bench.Earlier
	if h, err := o.store.Read(); err == nil { // else runBench has warned
		before = h.Before(r)
	}
	switch o.format {
	case output.AsJSON:
		return o.summary(r)
	case output.AsCSV:
		return nil
	case asMarkdown, asSVG, asHTML:
		s := report.Study(r, before)
		return writeSections(o.a, o.format, "piton bench "+s.Title, []report.Section{s})
	}
	return o.table(r, before)
}

// table prints a study as text: what it found, what has changed since the one before it, and
// the workload's own picture.
func (o *benchOutput) table(r bench.Results, before *bench.Earlier) error {
	var out strings.Builder
	if err := bench.WriteText(&out, r, bench.TableOptions{Width: o.width(), ASCII: o.a.ASCII}); err != nil {
		return err
	}
	if before != nil && before.Comparison.Different {
		fmt.Fprintln(&out, "note: "+before.Sentence())
	}
	lines, err := r.Picture(o.width())
	if err == nil && len(lines) > 0 {
		fmt.Fprintf(&out, "\n%s\n", strings.Join(lines, "\n"))
	}
	_, werr := io.WriteString(textOf(o.a), out.String())
	return cmp.Or(err, werr)
}

// textOf is the output for text that people read.
func textOf(a *app.App) io.Writer {
	if a.ASCII {
		return inASCII{a}
	}
	return a
}

type inASCII struct{ io.Writer }

// Write is of whole characters.
func (w inASCII) Write(p []byte) (int, error) {
	text := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, chart.ASCII.Replace(string(p)))
	_, err := io.WriteString(w.Writer, text)
	return len(p), err
}

// summary prints a study and its comparisons.
func (o *benchOutput) summary(r bench.Results) error {
	if err := o.json(store.StudyJSON(r)); err != nil {
		return err
	}
	for _, c := range bench.Judge(r).Comparisons {
		if err := o.json(store.ComparisonJSON("", r.ID, r.Study.Workload, c)); err != nil {
			return err
		}
	}
	return nil
}

// writeSections prints studies or papers as one document.
func writeSections(w io.Writer, format, title string, sections []report.Section) error {
	switch format {
	case asMarkdown:
		return report.Markdown(w, sections)
	case asHTML:
		return report.HTML(w, report.Page{Title: title, Sections: sections})
	}
	_, err := w.Write(report.SVG(sections))
	return err
}

// pictureWidth is that of output that goes to no terminal, in cells.
const pictureWidth = 100

// width is that of the terminal, or pictureWidth.
func (o *benchOutput) width() int {
	if width, ok := app.TerminalWidth(o.a.Out); ok {
		return width
	}
	return pictureWidth
}

func (o *benchOutput) json(b []byte, err error) error { return output.WriteJSON(o.a, b, err) }

func (o *benchOutput) csv(record []string) error {
	w := csv.NewWriter(o.a)
	for i := range record {
		record[i] = output.CSVText(record[i])
	}
	if err := w.Write(record); err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

func csvRun(study string, r bench.RunResult) []string {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	number := func(v uint64, have bool) string {
		if !have {
			return ""
		}
		return strconv.FormatUint(v, 10)
	}
	value := ""
	if r.Err == "" {
		value = strconv.FormatFloat(r.Metric, 'f', -1, 64)
	}
	return []string{study, r.Workload, string(r.Placement), strconv.Itoa(r.Index), strconv.FormatFloat(r.Seconds, 'f', -1, 64),
		seconds(r.Wall), seconds(r.User), seconds(r.System), number(r.Migrations, r.HaveMigrations()), r.MigrationSource,
		number(uint64(r.RunDelay.Nanoseconds()), r.HaveRunDelay), number(r.Voluntary, true), number(r.Involuntary, true),
		number(r.MaxRSSBytes, true), r.CPUs, r.Answer, strconv.FormatBool(r.Touched), r.Err, value}
}

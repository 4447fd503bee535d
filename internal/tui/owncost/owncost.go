// Package owncost shows what piton itself takes of the machine. Start at Cost.
package owncost

import (
	"fmt"
	"time"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/screen"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Cost is what piton itself takes of the machine. The zero value is hidden.
type Cost struct {
	Shown         bool
	Meter         *screen.Meter // counts what is written to the terminal; nil where that is not counted
	bytes, frames uint64        // written to the terminal up to the last sample
	bytesPerS     float64
	framesPerS    float64
	metered       bool // the rates are known
	lost          uint64
}

// Note takes in the newest sample, shown or not: rates need two.
func (c *Cost) Note(now *model.Model) {
	c.lost += now.Sample.MovesLost + now.Sample.StepsLost + now.Sample.RunIntervalsLost + now.Sample.WaitsLost
	if c.Meter == nil {
		return
	}
	bytes, frames := c.Meter.Read()
	if s := now.Elapsed.Seconds(); s > 0 {
		c.bytesPerS, c.framesPerS, c.metered = float64(bytes-c.bytes)/s, float64(frames-c.frames)/s, true
	}
	c.bytes, c.frames = bytes, frames
}

// Lines draws the cost of the process pid in at most most lines; nil while it is hidden.
func (c *Cost) Lines(now *model.Model, pid kernel.TID, width, most int, th *theme.Theme) []string {
	if !c.Shown || now == nil {
		return nil
	}
	var out []string
	for _, paragraph := range []string{c.own(now, pid, th), collectors(now, th)} {
		for i, l := range widget.Wrap(paragraph, max(width-10, 1)) {
			label := "piton"
			if i > 0 || len(out) > 0 {
				label = ""
			}
			out = append(out, widget.Fit(" "+th.Title.Render(widget.Fit(label, 7, ""))+" "+l, width, th.Ellipsis))
		}
	}
	return out[:min(len(out), most)]
}

// own is the CPU time, the memory and the terminal.
func (c *Cost) own(now *model.Model, pid kernel.TID, th *theme.Theme) string {
	text := "CPU " + th.None + ", resident " + th.None
	if i, ok := sample.Find(now.Sample.Tasks, pid); ok {
		row := field.Row{M: now, I: i, ASCII: th.ASCII}
		used := th.None
		if p := row.Rates().CPUPercent; model.Known(p) {
			used = fmt.Sprintf("%.1f", p*10) // 100 % is 1000 ms a second
		}
		text = fmt.Sprintf("CPU %s ms/s, resident %s", used, field.Cell("rss_bytes", row))
	}
	if c.metered {
		text += fmt.Sprintf(", terminal %.0f B/s in %.1f frames/s", c.bytesPerS, c.framesPerS)
	}
	s := now.Sample
	text += fmt.Sprintf("; sample %s late, %d dropped", ms(s.Late), s.Replaced)
	if c.lost > 0 {
		text += fmt.Sprintf(", %d events lost", c.lost)
	}
	return text
}

// collectors is what each source of the sample cost, with its rung of the
// ladder.
func collectors(now *model.Model, th *theme.Theme) string {
	text, total := "", time.Duration(0)
	for _, c := range now.Sample.Collectors {
		total += c.Took
		text += fmt.Sprintf(" %s %s", th.Dot, c.Name)
		if c.Rung != "" {
			text += " (" + c.Rung + ")"
		}
		text += " " + ms(c.Took)
		if c.Err != nil {
			text += " failed: " + field.Clean(c.Err.Error())
		}
	}
	return "a sample took " + ms(total) + text
}

// ms writes a time in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

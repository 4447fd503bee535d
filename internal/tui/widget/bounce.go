package widget

import (
	"fmt"
	"strings"
	"time"

	"piton/internal/chart"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/tui/theme"
)

// Bounce is the moves of one task, to be drawn.
type Bounce struct {
	Steps    []sample.Step // oldest first
	Lost     uint64        // moves that are missing among them
	Quiet    time.Duration // since the last of them
	Name     string        // what this is instead of "each move", such as "moves of 3645"
	Topology *topology.Topology
}

// pingPong is how soon a task has to be back on the CPU it left to count as
// bouncing between two.
const pingPong = 100 * time.Millisecond

// worthSaying is from when on it is said that no move came lately.
const worthSaying = 2 * time.Second

// BounceChart draws the CPUs that a task was on, one column a move, in their
// true order: a line for each CPU, those of one cache together; below them how
// far each move went and when it was. Where the CPUs are too many, lines are
// caches, then nodes. No line is wider than width; nil where nothing fits.
func BounceChart(b Bounce, width, height int, th *theme.Theme) []string {
	if width < 20 || height < 2 || b.Topology == nil {
		return nil
	}
	if len(b.Steps) == 0 {
		return []string{th.Dim.Render(Fit("no moves yet", width, th.Ellipsis))}
	}
	below := min(2, max(height-4, 0)) // distances and times
	c := bounceChart{Bounce: b, laneChart: laneChart{topo: b.Topology, th: th, label: min(labelWidth(b.Topology), width/2)}}
	if over := len(b.Steps) - (width - c.label - 2); over > 0 {
		c.Steps = b.Steps[over:]
	}
	c.path = append(c.path, c.Steps[0].From) // column 0 is before the first move
	for _, s := range c.Steps {
		c.path = append(c.path, s.To)
	}
	out := []string{th.Dim.Render(Fit(c.title(), width, th.Ellipsis))}
	out = append(out, c.draw(height-1-below)...)
	return append(out, []string{c.distances(), c.times(width)}[:below]...)
}

// bounceChart is one drawing; its Steps are those that have a column.
type bounceChart struct {
	Bounce
	laneChart
}

func (c *bounceChart) title() string {
	back := 0
	for i, s := range c.Steps {
		if i > 0 && s.To == c.Steps[i-1].From && time.Duration(s.AtNs-c.Steps[i-1].AtNs) <= pingPong {
			back++
		}
	}
	n := len(c.Steps)
	text := "each move: one"
	if n > 1 {
		text = fmt.Sprintf("each move: %d in %s", n, c.age(c.Steps[n-1].AtNs-c.Steps[0].AtNs))
	}
	if c.Name != "" {
		text = c.Name + text[len("each move"):]
	}
	if c.Quiet >= worthSaying {
		text += fmt.Sprintf(", none for %.0fs", c.Quiet.Seconds())
	}
	if c.Lost > 0 {
		text += fmt.Sprintf(", %d lost", c.Lost)
	}
	if back > 0 {
		text += ", " + chart.Plural(back, "ping-pong")
	}
	return text + c.across()
}

// distances tells below each column how far the move to it went; a question
// mark where moves are missing before it.
func (c *bounceChart) distances() string {
	dst := AppendFit(nil, "far", c.label, true, c.th.Ellipsis)
	dst = append(dst, "  "...)
	for i, s := range c.Steps {
		if i > 0 && s.From != c.Steps[i-1].To {
			dst = c.th.Warn.Append(dst, "?")
			continue
		}
		class := c.Topology.Distance(s.From, s.To)
		dst = DistanceStyle(c.th, class).Append(dst, DistanceLetter(class))
	}
	return string(dst)
}

// timeEvery is the least distance of two marks of time, in columns.
const timeEvery = 10

// times marks how long before the last move others were.
func (c *bounceChart) times(width int) string {
	dst := AppendFit(nil, "ago", c.label, true, c.th.Ellipsis)
	dst = append(dst, "  "...)
	last := c.Steps[len(c.Steps)-1].AtNs
	for i := 0; i < len(c.Steps); i += timeEvery {
		if c.Steps[i].AtNs == last {
			break
		}
		mark := c.age(last - c.Steps[i].AtNs)
		if c.label+2+i+len(mark) > width {
			break
		}
		dst = AppendFit(dst, mark, timeEvery, false, "")
	}
	return Fit(c.th.Dim.Render(strings.TrimRight(string(dst), " ")), width, "")
}

func (c *bounceChart) age(ns uint64) string {
	text := chart.Quantity(float64(ns), "ns")
	if c.th.ASCII {
		text = chart.ASCII.Replace(text)
	}
	return text
}

package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Cutter is what stands between a terminal and the screen.
type Cutter struct{ cut cutter }

// Feed takes bytes that came now.
func (c *Cutter) Feed(b []byte, now time.Time) []tea.Msg { return c.cut.feed(b, now) }

// Expire takes what waited long enough, and tells when it has to be called again.
func (c *Cutter) Expire(now time.Time) []tea.Msg { return c.cut.expire(now) }

// Deadline is when Expire has to be called.
func (c *Cutter) Deadline() (time.Time, bool) { return c.cut.deadline() }

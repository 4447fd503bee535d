package proctable

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/field"
)

func TestAColumnGrowsAtOnceAndShrinksLater(t *testing.T) {
	w := width{}
	assert.True(t, w.fits(7, true))
	for range calm - 1 {
		assert.False(t, w.fits(3, true))
		assert.False(t, w.fits(2, false), "a page further is no tick")
	}
	assert.False(t, w.fits(7, true), "it was needed meanwhile")
	for range calm - 1 {
		assert.False(t, w.fits(5, true))
	}
	assert.True(t, w.fits(3, true))
	assert.Equal(t, width{cells: 5}, w)
}

func (s *shown) heading() string {
	s.t.Helper()
	line, _, _ := strings.Cut(s.text(), "\n")
	return line
}

func TestColumnsOfTheUsualValueAreAway(t *testing.T) {
	s := show(t)
	assert.Contains(t, s.heading(), " POL ", "jackd is FIFO")
	assert.Contains(t, s.heading(), " ALLOWED ", "and on one CPU")
	s.machine.Kill(4000)
	s.tick(1)
	assert.Contains(t, s.heading(), " POL ")
	for range calm {
		s.tick(1)
		s.text()
	}
	assert.NotContains(t, s.heading(), "POL")
	assert.NotContains(t, s.heading(), "ALLOWED")
	var read []string
	for _, c := range s.Read() {
		read = append(read, c.ID)
	}
	assert.Contains(t, read, "affinity", "it comes back when one has another")

	s.change(func(v *View) { v.Sort, _ = field.Lookup("policy") })
	assert.Contains(t, s.heading(), " POL")
	s.change(func(v *View) { v.Sort, _ = field.Lookup("pid"); v.Chosen = true })
	assert.Contains(t, s.heading(), " POL ")
	assert.Contains(t, s.heading(), " ALLOWED ")
}

func TestACommandIsCutInItsDirectoryFirst(t *testing.T) {
	s := show(t)
	for _, one := range []struct {
		command string
		cells   int
		want    string
	}{
		{"/usr/lib/postgresql/16/bin/postgres -D /srv/pg", 50, "/usr/lib/postgresql/16/bin/postgres -D /srv/pg    "},
		{"/usr/lib/postgresql/16/bin/postgres -D /srv/pg", 45, "…/lib/postgresql/16/bin/postgres -D /srv/pg  "},
		{"/usr/lib/postgresql/16/bin/postgres -D /srv/pg", 30, "…/16/bin/postgres -D /srv/pg  "},
		{"/usr/lib/postgresql/16/bin/postgres -D /srv/pg", 16, "…/postgres -D /…"},
		{"/usr/lib/postgresql/16/bin/postgres -D /srv/pg", 8, "…/postg…"},
		{"./nqueens -n 16 --threads 2", 12, "./nqueens -…"},
		{"/init", 4, "/in…"},
		{"/", 1, "/"},
		{"sshd: /usr/sbin/sshd -D", 12, "sshd: /usr/…"},
	} {
		s.machine.Add(5000, 1, "x", one.command, "balu", 0, 0, s.machine.Topology.Online.CPUs())
		s.tick(1)
		s.Select(5000)
		row, _ := s.Selected()
		assert.Equal(t, one.want, ansi.Strip(string(s.appendCommand(nil, row, th, one.cells))), "%s in %d", one.command, one.cells)
		s.machine.Kill(5000)
		s.tick(1)
	}
}

func TestTheNameOfTheProgramStandsOut(t *testing.T) {
	s := show(t)
	s.Select(980)
	row, _ := s.Selected()
	assert.Equal(t, th.Dim.Render("…/bin/")+th.Strong.Render("postgres")+" -D /srv/pg ", string(s.appendCommand(nil, row, th, 26)))
	s.Select(612)
	row, _ = s.Selected()
	assert.Equal(t, th.Strong.Render("sshd")+": /usr/sbin/sshd", string(s.appendCommand(nil, row, th, 24))[:len(th.Strong.Render("sshd"))+16])
}

func TestZerosAreDim(t *testing.T) {
	s := show(t)
	s.Select(1)
	row, _ := s.Selected()
	for _, id := range []string{"nice", "cpu_percent", "time_s", "migrations_per_s", "run_delay_percent"} {
		c, _ := field.Lookup(id)
		text := string(field.AppendCell(nil, c, row, 8))
		assert.Equal(t, th.Dim.Render(text), string(s.appender(c)(nil, int32(row.I), th, 8)), id)
	}
	for _, id := range []string{"pid", "cpu", "priority"} {
		c, _ := field.Lookup(id)
		assert.False(t, c.Zero(row), id)
	}
}

package demo

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the pictures")

// pictures is where the README's pictures are.
const pictures = "../../testdata/pictures/"

// Their times are those of everybody.
func init() { time.Local = time.UTC }

// compare compares a picture with its file.
func compare(t *testing.T, name string, svg []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(pictures, 0o755))
		require.NoError(t, os.WriteFile(pictures+name+".svg", svg, 0o644))
		return
	}
	old, err := os.ReadFile(pictures + name + ".svg")
	require.NoError(t, err, "run make pictures once")
	if string(old) != string(svg) { // a difference of pictures says nothing in words
		t.Errorf("%s.svg is not what is drawn now: run make pictures and look at it", name)
	}
}

// still is a picture of one frame.
type still struct {
	name                string
	cpus, width, height int
	keys                []string
	wait                int    // seconds after the keys
	shows               string // that the keys led where they should
}

// stills are the pictures of the views.
var stills = []still{
	{name: "processes", cpus: 16, width: 120, height: 36, keys: []string{"down", "down", "down", "down", "down"}, wait: 30, shows: "bouncer"},
	{name: "cores", cpus: 16, width: 120, height: 40, keys: []string{"2"}, wait: 20, shows: "from\\to"},
	{name: "irqs", cpus: 16, width: 120, height: 36, keys: []string{"3"}, wait: 20, shows: "nvme0q1"},
	{name: "bench", cpus: 16, width: 120, height: 36, keys: []string{"4", "n", "enter"}, wait: 40, shows: "faster than normal"},
	{name: "512", cpus: 512, width: 200, height: 50, wait: 30, shows: "gmx"},
}

// TestPictures keeps the pictures what the screen draws: make pictures rewrites them.
func TestPictures(t *testing.T) {
	for _, s := range stills {
		t.Run(s.name, func(t *testing.T) {
			fly(t, s.cpus, s.width, s.height, func(p *pilot) {
				p.tick(4)
				p.press(s.keys...)
				p.tick(s.wait)
				require.Contains(t, p.text(), s.shows)
				compare(t, s.name, Still(p.frame(), s.width, s.height))
			})
		})
	}
}

// film collects frames.
type film struct {
	*pilot
	frames []Frame
}

func (f *film) show(d time.Duration) {
	f.frames = append(f.frames, Frame{Content: f.frame(), For: d})
}

// seconds shows what the machine does for a while.
func (f *film) seconds(n int) {
	for range n {
		f.tick(1)
		f.show(time.Second)
	}
}

// TestMovingPicture draws the README's moving picture: a process bounces, p pins it and
// its migrations stop, z undoes that, and a study measures placements.
func TestMovingPicture(t *testing.T) {
	const width, height = 120, 34
	fly(t, 16, width, height, func(p *pilot) {
		f := &film{pilot: p}
		f.tick(24)
		f.seconds(3)
		f.press("/")
		f.typed("boun")
		f.show(700 * time.Millisecond)
		f.typed("cer")
		f.press("enter")
		f.show(700 * time.Millisecond)
		f.seconds(2)
		f.press("p")
		f.tick(1) // it migrates so often that it is watched for a moment first
		require.Equal(t, 1, p.machine.fake.Task(named(t, p.machine, "bouncer").TID).Affinity.Len(), "it is pinned")
		f.show(time.Second)
		f.seconds(3)
		for range 3 {
			f.tick(2)
			f.show(time.Second)
		}
		f.press("z")
		require.Equal(t, 16, p.machine.fake.Task(named(t, p.machine, "bouncer").TID).Affinity.Len(), "it may run anywhere again")
		f.show(1200 * time.Millisecond)
		f.seconds(2)
		f.press("4", "n")
		f.show(1500 * time.Millisecond)
		f.press("enter")
		require.Contains(t, f.text(), "least-loaded", "the study runs")
		for range 4 {
			f.tick(7)
			f.show(time.Second)
		}
		f.frames[len(f.frames)-1].For = 4 * time.Second
		still := 6 // the bouncer is selected
		svg := Moving(f.frames, still, width, height)
		if len(svg) > 400_000 {
			t.Errorf("the moving picture has %d bytes; a page should not have to load more than 400,000", len(svg))
		}
		compare(t, "demo", svg)
	})
}

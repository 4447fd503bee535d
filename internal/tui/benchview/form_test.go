package benchview

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/bench"
	"piton/internal/tui/dialog"
	"piton/internal/tuitest/golden"
	"piton/workloads"
	"piton/workloads/workload"
)

func press(f *Form, keys string) dialog.Outcome {
	var out dialog.Outcome
	for k := range strings.FieldsSeq(keys) {
		out = f.Update(stroke(k))
	}
	return out
}

// plainStudy is a workload's usual study where nothing is known of the machine.
func plainStudy(w workload.Workload) bench.Study {
	return bench.Study{Workload: w.Name, Args: w.Args(nil), Runs: 10, Warmup: 1, Placements: bench.DefaultPlacements(w, true)}
}

func sampleForm() *Form { return NewForm(workloads.All[:8], sampleStudy(), plainStudy) }

func TestFormGivesAStudy(t *testing.T) {
	assert.Equal(t, sampleStudy(), press(sampleForm(), "enter").Value)

	s := press(sampleForm(), "right enter").Value.(bench.Study)
	assert.Equal(t, "matrix", s.Workload)
	assert.Equal(t, []string{"-n", "500", "--threads", "100", "--mapping", "kernel", "--kernel", "naive"}, s.Args)
	assert.Equal(t, []bench.Placement{"normal", "spread", "llc"}, s.Placements, "its own")

	s = press(sampleForm(), "right down down down right enter").Value.(bench.Study)
	assert.Equal(t, "manual", s.Args[5])

	s = press(sampleForm(), "down down down space down down space enter").Value.(bench.Study)
	assert.Equal(t, []bench.Placement{"least-loaded", "rr:10"}, s.Placements, "normal and fifo:10 were unticked")

	s = press(sampleForm(), "up enter").Value.(bench.Study)
	assert.Equal(t, "nqueens", s.Workload, "up stays on the first field")
	assert.True(t, press(sampleForm(), "esc").Canceled)
}

func TestFormTakesOtherPlacements(t *testing.T) {
	f := sampleForm()
	f.GoTo(len(f.Fields) - 4)
	press(f, "c p u : 0 space n i c e : 5 tab backspace backspace 5")
	s := press(f, "enter").Value.(bench.Study)
	assert.Equal(t, append(sampleStudy().Placements, "cpu:0", "nice:5"), s.Placements)
	assert.Equal(t, 5, s.Runs)
	f = NewForm(workloads.All[:8], s, plainStudy)
	assert.Equal(t, s, press(f, "enter").Value, "what was typed comes back")
}

func TestFormSaysWhatIsWrong(t *testing.T) {
	for keys, want := range map[string]string{
		"down 9 9":                 "n must be a number from 1 to 18, not \"1499\"",
		"down backspace backspace": "n must be a number",
		"tab tab backspace x":      "threads must be a number",
		"down down down space down space down space down space": "a study needs at least one placement",
	} {
		f := sampleForm()
		out := press(f, keys+" enter")
		assert.False(t, out.Done, keys)
		assert.Contains(t, ansi.Strip(f.Render(90, 30, plain)), want)
	}
	f := sampleForm()
	f.GoTo(len(f.Fields) - 4)
	press(f, "x enter")
	assert.Contains(t, ansi.Strip(f.Render(90, 30, plain)), `"x"`)
	press(f, "backspace tab backspace backspace 0 enter")
	assert.Contains(t, ansi.Strip(f.Render(90, 30, plain)), "runs must be a number from 1")
	assert.False(t, press(NewForm(nil, bench.Study{}, plainStudy), "enter left right").Done)
}

func TestFormLooks(t *testing.T) {
	for _, s := range []struct {
		name          string
		width, height int
	}{{"form-76x22", 76, 22}, {"form-90x38", 90, 38}, {"form-56x13", 56, 13}, {"form-16x3", 16, 3}} {
		f := sampleForm()
		press(f, "down")
		golden.Check(t, s.name, f.Render(s.width, s.height, plain), s.width, s.height)
		c := f.Cursor()
		if assert.NotNil(t, c, s.name) {
			assert.Less(t, c.Y, s.height)
		}
	}
	f := sampleForm()
	f.Render(80, 20, plain)
	assert.Nil(t, f.Cursor(), "the workload is not typed")
}

// TestTheFormFitsTheSize: a trial run shows how long a run takes here, and the size that is
// offered is one that can be judged.
func TestTheFormFitsTheSize(t *testing.T) {
	r := &fakeRunner{}
	p := mustOpen(t, newPilot(t, r, &fakeStore{}))
	p.press("n")
	assert.Len(t, r.tried, 1)
	out := ansi.Strip(p.open.Top().Render(90, 38, plain))
	assert.Contains(t, out, "n 15 → about 0.9 s a run, 44 runs, 38 s")
	assert.Equal(t, "15", mustStudy(t, p).Args[1])

	p.press("n down backspace 3") // what the user gives stands, and is said to be too short
	out = ansi.Strip(p.open.Top().Render(90, 38, plain))
	assert.Contains(t, out, "n 13 → about 25 ms a run")
	assert.Contains(t, out, "Runs of 25 ms are too short to judge: use a larger -n (15 takes about 0.9 s).")
	p.press("enter")
	assert.Equal(t, "13", r.started[0].Args[1])
	assert.Len(t, r.tried, 1)
}

// TestAStudyThatStartsBeforeItsTrialEnds has a fitted size, too.
func TestAStudyThatStartsBeforeItsTrialEnds(t *testing.T) {
	r := &fakeRunner{}
	p := newPilot(t, r, &fakeStore{})
	p.run(p.view.start(plainStudy(workloads.All[0])))
	assert.Equal(t, "15", r.started[0].Args[1])
}

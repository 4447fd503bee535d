package rules

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/taskfile"
	"piton/internal/topology/topologytest"
)

const example = `version = 1

[[rule]]
name = "web"
comm = "nginx*"
unit = "nginx.service"
user = "www-data"
place = "least-loaded"
within = "1-3"
memory = "cpus"
nice = -5
policy = "batch"
ioprio = "be:2"
slice = "3ms"
priority = 10

[[rule]]
name = "builds"
command = '^/usr/bin/make\b'
cpus = "2-3"

[[rule]]
name = "bouncing"
cgroup = "/user.slice/*"
place = "spread"
when = "pingpong > 50 for 10s"
`

func parsed(t testing.TB, text string) *Set {
	t.Helper()
	s, err := Parse([]byte(text))
	require.NoError(t, err)
	return s
}

func TestParse(t *testing.T) {
	s := parsed(t, example)
	require.Len(t, s.Rules, 3)
	assert.Equal(t, []int{3, 17, 22}, []int{s.Rules[0].Line, s.Rules[1].Line, s.Rules[2].Line})
	assert.Equal(t, &Trigger{Metric: "pingpong", Limit: 50, For: 10 * time.Second}, s.Rules[2].Trigger)
	assert.Equal(t, "pingpong > 50 for 10s", s.Rules[2].Trigger.String())
	assert.Empty(t, parsed(t, "version = 1\n").Rules)
}

func TestTuning(t *testing.T) {
	s, topo := parsed(t, example), topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 4})
	web, err := s.Rules[0].Tuning(topo)
	require.NoError(t, err)
	assert.Equal(t, place.LeastLoaded, web.Strategy)
	assert.Equal(t, "1-3", web.Within.String())
	assert.Equal(t, `rule "web"`, web.Reason)
	var words []string
	for _, set := range web.Set {
		words = append(words, string(set.Attribute)+" "+attr.Text(set.Value))
	}
	assert.Equal(t, []string{"memory cpus", "nice -5", "slice 3ms", "ioprio best-effort:2", "policy BATCH"}, words)

	builds, err := s.Rules[1].Tuning(topo)
	require.NoError(t, err)
	assert.Equal(t, []attr.Setting{attr.SetAffinity(cpuset.Of(2, 3))}, builds.Set)

	auto := parsed(t, "version = 1\n[[rule]]\nname = 'a'\ncomm = 'x'\nplace = 'auto'\nmetric = 'cpu'\nbudget = '30s'").Rules[0]
	assert.Equal(t, 30*time.Second, auto.Search)
	assert.False(t, auto.States())
	none, err := auto.Tuning(topo)
	require.NoError(t, err)
	assert.True(t, none.Empty())

	follows := parsed(t, "version = 1\n[[rule]]\nname = 'a'\ncomm = 'x'\nfollow = 'dedicated=2-3'\nvia = 'rps'").Rules[0]
	assert.False(t, follows.States())
	ask, err := follows.Delivery(topo)
	require.NoError(t, err)
	assert.Equal(t, []any{action.PolicyDedicated, action.WayRPS, "2-3", `rule "a": `}, []any{ask.Policy, ask.Via, ask.CPUs.String(), ask.By})
	_, err = parsed(t, "version = 1\n[[rule]]\nname = 'far'\ncomm = 'x'\nfollow = 'dedicated=node:7'").Rules[0].Delivery(topo)
	assert.ErrorContains(t, err, `rule "far": follow: `)

	for _, text := range []string{"cpus = 'node:7'", "place = 'pack'\nwithin = 'node:7'"} {
		_, err = parsed(t, "version = 1\n[[rule]]\nname = 'far'\ncomm = 'x'\n"+text).Rules[0].Tuning(topo)
		assert.ErrorContains(t, err, `rule "far": `)
	}
}

func TestParseErrors(t *testing.T) {
	const head = "version = 1\n[[rule]]\nname = 'a'\n" // three lines
	tests := []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"empty", "", 1, 0, "version = 0"},
		{"later version", "\nversion = 2\n", 2, 1, "reads rules of version = 1"},
		{"torn", "version = 1\n[[rule]\n", 2, 7, "expected"},
		{"a profile", "version = 1\n[[task]]\nname = 'x'\n", 2, 3, `no setting "task"`},
		{"unknown key", head + "comm = 'x'\ncpu = '1'\n", 5, 1, `no setting "rule.cpu"`},
		{"no name", "version = 1\n[[rule]]\ncomm = 'x'\nnice = 1\n", 2, 3, "has no name"},
		{"control", "version = 1\n[[rule]]\nname = \"\\u001b[2J\"\n", 3, 1, "cannot be printed"},
		{"long name", "version = 1\n[[rule]]\nname = '" + strings.Repeat("x", 65) + "'\n", 3, 1, "longer than 64"},
		{"twice", head + "comm = 'x'\nnice = 1\n[[rule]]\nname = 'a'\n comm = 'y'\nnice = 1\n", 7, 1, `rule "a" is the name of the rule of line 2 too`},
		{"same matchers", head + "comm = 'x'\nnice = 1\n[[rule]]\nname = 'b'\ncomm = 'x'\nnice = 2\n", 6, 3, `rule "b" and rule "a" (line 2) match the same processes with priority 0`},
		{"no matcher", head + "nice = 1\n", 2, 3, "every process"},
		{"empty matcher", head + "comm = 'x'\nuser = ''\nnice = 1\n", 5, 1, "user is empty"},
		{"empty matcher in capitals", head + "comm = 'x'\nUser = ''\nnice = 1\n", 5, 1, "user is empty"},
		{"empty when", head + "comm = 'x'\nnice = 1\nwhen = ''\n", 6, 1, "when is empty"},
		{"NUL", head + "comm = \"x\\u0000\"\nnice = 1\n", 4, 1, "NUL"},
		{"nothing set", head + "comm = 'x'\npriority = 1\n", 2, 3, "sets nothing"},
		{"number", head + "comm = '812'\nnice = 1\n", 4, 1, "another task after the next start"},
		{"another form", head + "comm = 'user:bob'\nnice = 1\n", 4, 1, "is no name"},
		{"long comm", head + "comm = 'systemd-networkd'\nnice = 1\n", 4, 1, `keeps 15 bytes of a name, "systemd-network"`},
		{"glob", head + "comm = '[a'\nnice = 1\n", 4, 1, "not closed"},
		{"regex of comm", head + "comm = '/(/'\nnice = 1\n", 4, 1, "missing closing )"},
		{"empty regex", head + "comm = '//'\nnice = 1\n", 4, 1, "would match everything"},
		{"regex", head + "command = '('\nnice = 1\n", 4, 1, "missing closing )"},
		{"cgroup", head + "cgroup = '['\nnice = 1\n", 4, 1, "no glob"},
		{"unit", head + "unit = '/system.slice/x.service'\nnice = 1\n", 4, 1, "has no /"},
		{"user", head + "user = ' bob'\nnice = 1\n", 4, 1, "not the name or number"},
		{"a number that only getent takes", head + "user = '+1001'\nnice = 1\n", 4, 1, "not the name or number"},
		{"cpus", head + "comm = 'x'\ncpus = '3-1'\n", 5, 1, "backwards"},
		{"place", head + "comm = 'x'\nplace = 'best'\n", 5, 1, `"best" is no placement`},
		{"both", head + "comm = 'x'\ncpus = '1'\nplace = 'pack'\n", 6, 1, "exclude each other"},
		{"within", head + "comm = 'x'\nnice = 1\nwithin = '1'\n", 6, 1, "needs place"},
		{"auto and cpus", head + "comm = 'x'\ncpus = '1'\nplace = 'auto'\n", 6, 1, "exclude each other"},
		{"follow", head + "comm = 'x'\nfollow = 'me'\n", 5, 1, `follow "me": it must be current, request`},
		{"follow without CPUs", head + "comm = 'x'\nfollow = 'dedicated'\n", 5, 1, "CPUs go with dedicated only"},
		{"follow with CPUs", head + "comm = 'x'\nfollow = 'current=1'\n", 5, 1, "CPUs go with dedicated only"},
		{"follow to CPUs", head + "comm = 'x'\nfollow = 'dedicated=3-1'\n", 5, 1, "backwards"},
		{"empty follow", head + "comm = 'x'\nnice = 1\nfollow = ''\n", 6, 1, "follow is empty"},
		{"via", head + "comm = 'x'\nfollow = 'request'\nvia = 'rfs'\n", 6, 1, `via "rfs" does not do follow "request": the ways of request are xdp, xdp-generic, hint`},
		{"via alone", head + "comm = 'x'\nnice = 1\nvia = 'rfs'\n", 6, 1, "via needs follow"},
		{"follow and auto", head + "comm = 'x'\nplace = 'auto'\nfollow = 'apart'\n", 6, 1, `follow and place = "auto" exclude each other`},
		{"auto and within", head + "comm = 'x'\nplace = 'auto'\nwithin = '1'\n", 6, 1, "the CPUs are found by trying"},
		{"auto and memory", head + "comm = 'x'\nmemory = '0'\nplace = 'auto'\n", 5, 1, "the CPUs are found by trying"},
		{"metric alone", head + "comm = 'x'\nnice = 1\nmetric = 'cpu'\n", 6, 1, `metric needs place = "auto"`},
		{"budget of a strategy", head + "comm = 'x'\nplace = 'pack'\nbudget = '1m'\n", 6, 1, `budget needs place = "auto"`},
		{"metric", head + "comm = 'x'\nplace = 'auto'\nmetric = 'joy'\n", 6, 1, `unknown rate "joy"`},
		{"metric of output", head + "comm = 'x'\nplace = 'auto'\nmetric = 'output:x'\n", 6, 1, "of a command that it starts"},
		{"empty metric", head + "comm = 'x'\nplace = 'auto'\nmetric = ''\n", 6, 1, "metric is empty"},
		{"budget", head + "comm = 'x'\nplace = 'auto'\nbudget = 'long'\n", 6, 1, "no time such as 30s"},
		{"long budget", head + "comm = 'x'\nplace = 'auto'\nbudget = '2h'\n", 6, 1, "1s to 1h0m0s"},
		{"pages", head + "comm = 'x'\nmemory = '0:812'\n", 5, 1, "a rule has nodes"},
		{"memory", head + "comm = 'x'\nmemory = 'here'\n", 5, 1, "neither"},
		{"nice", head + "comm = 'x'\n  nice = 20\n", 5, 3, "out of range"},
		{"priority of FIFO", head + "comm = 'x'\npolicy = 10\n", 5, 1, "fifo:10"},
		{"when", head + "comm = 'x'\nnice = 1\nwhen = 'pingpong >= 5'\n", 6, 1, "of the form"},
		{"when metric", head + "comm = 'x'\nnice = 1\nwhen = 'heat > 5'\n", 6, 1, `no rate "heat"`},
		{"when limit", head + "comm = 'x'\nnice = 1\nwhen = 'delay > 0'\n", 6, 1, "out of range"},
		{"when huge", head + "comm = 'x'\nnice = 1\nwhen = 'delay > " + strings.Repeat("9", 400) + "'\n", 6, 1, "out of range"},
		{"when time", head + "comm = 'x'\nnice = 1\nwhen = 'delay > 5 for ever'\n", 6, 1, `"ever" is no time`},
		{"when long", head + "comm = 'x'\nnice = 1\nwhen = 'delay > 5 for 2h'\n", 6, 1, "0s to 1h0m0s"},
		{"priority", head + "comm = 'x'\nnice = 1\npriority = 1000001\n", 6, 1, "out of range"},
		{"UTF-8", head + "comm = 'x\xff'\nnice = 1\n", 4, 10, "invalid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			var e *taskfile.Error
			require.ErrorAs(t, err, &e)
			assert.Contains(t, e.Error(), tt.want)
			assert.Equal(t, [2]int{tt.line, tt.column}, [2]int{e.Line, e.Column}, e.Error())
		})
	}
}

// many writes n rules of a format that takes their numbers.
func many(n int, format string) string {
	var b strings.Builder
	b.WriteString("version = 1\n")
	for i := range n {
		fmt.Fprintf(&b, "[[rule]]\nname = 'r%d'\nnice = 1\n"+format+"\n", i, i)
	}
	return b.String()
}

func TestParseLimits(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"size", strings.Repeat("#", taskfile.MaxSize+1), "larger than 16 MiB"},
		{"line", "version = 1\n#" + strings.Repeat("a", 1<<20), "line 2: the line is longer"},
		{"rules", many(maxRules+1, "comm = 'c%d'"), "line 40002, column 3: the file has more than 10000 rules"},
		{"patterns", many(maxPatterns+1, "comm = 'c%d*'"), "more than 500 rules have no comm that is a plain name"},
		{"expressions", many(maxPatterns, "command = 'x{1000}%d'"), "with this one they have more than 262144 instructions"},
		{"expressions of comm", many(maxPatterns, "comm = '/x{1000}%d/'"), "with this one they have more than 262144 instructions"},
		{"one expression", "version = 1\n[[rule]]\nname = 'x'\nnice = 1\ncomm = '/" + strings.Repeat("x{1000}", 2000) + "/'", "line 5, column 1: the regular expressions"},
		{"depth", "version = 1\nrule = " + strings.Repeat("[", 1<<19), "nested more than"},
		{"depth of an expression", "version = 1\n[[rule]]\nname = 'x'\nnice = 1\ncommand = '" + strings.Repeat("(", 8000) + strings.Repeat(")", 8000) + "'", "nests too deeply"},
		{"inline", "version = 1\nrule = [" + strings.Repeat("{}, ", 20_000) + "]", "has no name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
	assert.Len(t, parsed(t, many(maxRules, "comm = 'c%d'")).Rules, maxRules)
}

// BenchmarkParse has the same time for a rule at both sizes where reading is linear.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{maxRules / 10, maxRules} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := []byte(many(n, "comm = 'c%d'"))
			for b.Loop() {
				_, err := Parse(text)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/rule")
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		example, many(3, "comm = 'c%d'"), "version = 1\nrule = [{name = 'x', comm = '/a|b/', nice = 1}]",
		"version = 1\n[[rule]]\nname = 'a'\nunit = '*'\nnice = 1\n[[rule]]\nname = 'b'\nuser = '0'\nmemory = 'cpus 1'\nwhen = 'delay>1'",
	} {
		f.Add([]byte(text))
	}
	tasks := []*sample.Task{nginx(), started(2, "c1"), started(3, "x\x00\xff"), {TID: 4, TGID: 1}, {TID: 5, TGID: 5}}
	topo := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			var e *taskfile.Error
			if !errors.As(err, &e) || e.Line < 1 {
				t.Fatalf("%v has no position", err)
			}
			return
		}
		report := s.Check(tasks)
		for _, task := range tasks {
			checkExplain(t, s, task)
		}
		for _, m := range report.Matches {
			_, _ = m.Rule.Tuning(topo)
		}
		e := New(s, Limits{})
		e.Scan(tasks, 0)
		e.Reload(s)
		if got := e.Stats().Tracked; got != len(report.Matches) {
			t.Fatalf("%d processes are tracked, and %d match", got, len(report.Matches))
		}
	})
}

// TestGroupsAreOfAllThatRunThere: a process cannot have its group changed by its name.
func TestGroupsAreOfAllThatRunThere(t *testing.T) {
	for text, wrong := range map[string]string{
		"comm = 'a'\nweight = 50":                          "raises priority",
		"comm = 'a'\nquota = '20%'":                        "raises priority",
		"unit = 'a.service'\nquota = '20% burst 5ms'":      "",
		"unit = 'a.service'\nweight = 'idle'":              "",
		"unit = 'a.service'\nweight = 0":                   "neither a number from 1 to 10000",
		"comm = 'a'\ntrust_names = true\nweight = '10000'": "",
	} {
		_, err := Parse([]byte("version = 1\n[[rule]]\nname = 'x'\n" + text + "\n"))
		if wrong == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, wrong, text)
	}
}

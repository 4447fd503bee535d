package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// started is a process whose start time is its number, in ticks.
func started(pid kernel.TID, comm string) *sample.Task {
	return &sample.Task{TID: pid, TGID: pid, StartTicks: uint64(pid), ID: &sample.Identity{Comm: comm, Cmdline: comm, Cgroup: "/", User: "root", Full: true}}
}

func nginx() *sample.Task {
	t := started(812, "nginx")
	t.ID.Cmdline, t.ID.Cgroup, t.ID.User, t.ID.UID = "nginx: worker process", "/system.slice/nginx.service", "www-data", 33
	return t
}

// rule makes a file of rules that set nice, each of name and its other lines.
func rule(rules ...string) string {
	var b strings.Builder
	b.WriteString("version = 1\n")
	for _, r := range rules {
		name, rest, _ := strings.Cut(r, ": ")
		fmt.Fprintf(&b, "[[rule]]\nname = '%s'\nnice = 1\n%s\n", name, rest)
	}
	return b.String()
}

func TestMatchers(t *testing.T) {
	task := nginx()
	for text, want := range map[string]string{
		"comm = 'nginx'":                          "",
		"comm = 'ngin'":                           `its comm is "nginx", not "ngin"`,
		"comm = 'n*x'":                            "",
		"comm = '/^ng/'":                          "",
		"comm = '/^x/'":                           `its comm is "nginx", not "/^x/"`,
		"command = 'worker'":                      "",
		"command = '^worker'":                     `its command line does not match "^worker"`,
		"cgroup = '/system.slice/*'":              "",
		"cgroup = '/system.slice'":                `its cgroup is "/system.slice/nginx.service", not "/system.slice"`,
		"unit = 'nginx.service'":                  "",
		"unit = 'system.slice'":                   "",
		"unit = '*.service'":                      "",
		"unit = 'nginx'":                          `its cgroup "/system.slice/nginx.service" is in no unit "nginx"`,
		"user = 'www-data'":                       "",
		"user = '33'":                             "",
		"user = 'root'":                           `its user is "www-data", not "root"`,
		"comm = 'nginx'\nuser = 'root'":           `its user is "www-data", not "root"`,
		"user = '33'\nunit = 'x*'\ncomm = 'ngi*'": `its cgroup "/system.slice/nginx.service" is in no unit "x*"`,
	} {
		r := parsed(t, rule("a: "+text)).Rules[0]
		key := r.mismatch(task)
		if want == "" {
			assert.Empty(t, key, text)
		} else {
			require.NotEmpty(t, key, text)
			assert.Equal(t, want, r.mismatchWords(task, key), text)
		}
	}
	none := *task
	none.ID = &sample.Identity{Comm: "nginx"} // as where the kernel has no control groups
	for _, text := range []string{"unit = 'nginx'", "user_unit = 'nginx'", "cgroup = '/system.slice'"} {
		r := parsed(t, rule("a: "+text)).Rules[0]
		assert.Equal(t, "it is in no control group", r.mismatchWords(&none, r.mismatch(&none)), text)
	}
}

// TestUnitsCannotBeMade is that no user's own group has the name of a unit of the system.
func TestUnitsCannotBeMade(t *testing.T) {
	const manager = "/user.slice/user-1000.slice/user@1000.service"
	for text, groups := range map[string]map[string]bool{
		"unit = 'nginx.service'": {"/system.slice/nginx.service/worker": true, "/system.slice/nginx.service (deleted)": true,
			manager + "/nginx.service": false, manager + "/app.slice/nginx.service": false, "/system.slice/web.service/nginx.service": false,
			"/docker/x/nginx.service": false},
		"unit = 'user-1000.slice'":    {manager + "/app.slice": true, "/system.slice/web.service/user-1000.slice": false},
		"unit = 'app.slice'":          {manager + "/app.slice/a.service": false},
		"user_unit = 'nginx.service'": {manager + "/app.slice/nginx.service": true, "/system.slice/nginx.service": false},
	} {
		r := parsed(t, rule("a: "+text)).Rules[0]
		for group, want := range groups {
			task := nginx()
			task.ID.Cgroup = group
			key := r.mismatch(task)
			assert.Equal(t, want, key == "", "%s: %s", text, group)
		}
		assert.True(t, parsed(t, rule("a: "+text)).Parts("x").Cgroup)
	}
}

// TestRaisingRulesAreAnchored is that no process puts itself before others by its name.
func TestRaisingRulesAreAnchored(t *testing.T) {
	raising := []string{"nice = -1", "policy = 'fifo:5'", "policy = 'rr:1'", "policy = 'deadline:1ms/10ms/10ms'", "ioprio = 'rt:4'"}
	for matcher, anchored := range map[string]bool{
		"comm = 'x'": false, "command = '^/usr/bin/x'": false, "unit = 'x*.service'": false, "user_unit = 'x.service'": false,
		"cgroup = '*/x.service'": false, "cgroup = '/*/x.service'": false, "cgroup = '/x*'": false, "cgroup = 'x/y'": false,
		"cgroup = '/user.slice/*/x.service'": false, "cgroup = '/user.slice/user-[01].slice'": false,
		"user = 'root'": true, "unit = 'x.service'": true, "cgroup = '/system.slice/*'": true, "cgroup = '/system.slice/x@*.service'": true,
		"cgroup = '/user.slice/user-1000.slice/*'": true, "comm = 'x'\nuser = 'root'": true,
		"comm = 'x'\ntrust_names = true": true,
	} {
		for _, setting := range raising {
			_, err := Parse([]byte("version = 1\n[[rule]]\nname = 'r'\n" + matcher + "\n" + setting + "\n"))
			if anchored {
				assert.NoError(t, err, "%s %s", matcher, setting)
			} else {
				assert.ErrorContains(t, err, `rule "r" raises priority`, "%s %s", matcher, setting)
			}
		}
		for _, setting := range []string{"nice = 0", "policy = 'batch'", "ioprio = 'be:0'", "cpus = '0'"} {
			_, err := Parse([]byte("version = 1\n[[rule]]\nname = 'r'\n" + matcher + "\n" + setting + "\n"))
			assert.NoError(t, err, "%s %s", matcher, setting)
		}
	}
}

// TestUserIsBoth is that a program which lends root to its starter is not root's.
func TestUserIsBoth(t *testing.T) {
	for _, user := range []string{"root", "0"} {
		r := parsed(t, rule("a: user = '"+user+"'")).Rules[0]
		task := started(5, "su")
		assert.Empty(t, r.mismatch(task))
		task.ID.TwoUsers = true
		assert.Equal(t, keyUser, r.mismatch(task))
		assert.Contains(t, r.mismatchWords(task, keyUser), `its effective user is "root" and its real one another`)
	}
}

func TestLookUp(t *testing.T) {
	s := parsed(t, rule("a: user = 'dora'", "b: user = 'nobody-here'", "c: user = '7'", "d: user = 'slow'", "e: comm = 'x'"))
	unknown := s.LookUp(func(name string) (uint32, bool, bool) { return 61200, name == "dora", name != "slow" })
	assert.Equal(t, s.Rules[1:2], unknown)
	task := started(5, "x")
	task.ID.User, task.ID.UID = "61200", 61200
	assert.Empty(t, s.Rules[0].mismatch(task), "by its number")
	task.ID.User, task.ID.UID = "slow", 9
	assert.Empty(t, s.Rules[3].mismatch(task), "by its name")
}

func TestLongCommandLine(t *testing.T) {
	task := nginx()
	task.ID.Cmdline = strings.Repeat("x", 20<<10) + "needle"
	got, err := parsed(t, rule("a: command = 'needle'")).Match(task)
	require.NoError(t, err)
	assert.NotNil(t, got)
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name     string
		rules    []string
		want     string // the rule
		conflict string
	}{
		{"none", []string{"a: comm = 'x'"}, "", ""},
		{"one", []string{"a: comm = 'x'", "b: comm = 'nginx'"}, "b", ""},
		{"the highest", []string{"a: comm = 'nginx'", "b: user = '33'\npriority = 2", "c: unit = '*'\npriority = 1"}, "b", ""},
		{"a negative one", []string{"a: comm = 'nginx'\npriority = -1", "b: user = '33'"}, "b", ""},
		{"equal", []string{"a: user = '33'", "b: comm = 'nginx'"}, "", `rules "a" (line 2) and "b" (line 6) both match with priority 0: give one of them a higher priority`},
		{"equal below", []string{"a: user = '33'", "b: comm = 'nginx'", "c: unit = '*'\npriority = 1"}, "c", ""},
		{"equal above", []string{"a: user = '33'", "b: comm = 'nginx'\npriority = 1", "c: unit = '*'\npriority = 1"}, "", `rules "b" (line 6) and "c" (line 11)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := parsed(t, rule(tt.rules...))
			got, err := s.Match(nginx())
			if tt.conflict != "" {
				require.ErrorContains(t, err, tt.conflict)
				assert.Nil(t, got)
			} else {
				require.NoError(t, err)
			}
			if tt.want == "" {
				assert.Nil(t, got)
			} else {
				assert.Equal(t, tt.want, got.Name)
			}
			checkExplain(t, s, nginx())
		})
	}
}

// checkExplain holds Explain to what Match says.
func checkExplain(t *testing.T, s *Set, task *sample.Task) {
	t.Helper()
	best, matchErr := s.Match(task)
	verdicts, err := s.Explain(task)
	if verdicts == nil {
		assert.Nil(t, best)
		return
	}
	assert.Equal(t, matchErr, err)
	assert.Len(t, verdicts, len(s.Rules))
	for _, v := range verdicts {
		assert.Equal(t, v.Rule == best, v.Applies, v.Why)
		assert.True(t, v.Matches || !v.Applies, v.Why)
		assert.True(t, strings.HasPrefix(v.Why, v.Rule.Title()) && strings.HasSuffix(v.Why, "."), v.Why)
	}
}

func sentences(t *testing.T, s *Set, task *sample.Task) []string {
	verdicts, _ := s.Explain(task)
	var out []string
	for _, v := range verdicts {
		out = append(out, v.Why)
	}
	return out
}

func TestExplain(t *testing.T) {
	assert.Equal(t, []string{
		`rule "db" does not apply: its comm is "nginx", not "postgres".`,
		`rule "web" applies while pingpong > 50: the process has comm "nginx", user "www-data".`,
		`rule "all" does not apply: it matches, but its priority 0 is below the 2 of rule "web".`,
	}, sentences(t, parsed(t, rule("db: comm = 'postgres'", "web: comm = 'nginx'\nuser = 'www-data'\npriority = 2\nwhen = 'pingpong > 50'", "all: unit = '*'")), nginx()))

	conflict := parsed(t, rule("a: comm = 'nginx'", "b: user = '33'", "c: unit = '*'\npriority = -3"))
	assert.Equal(t, []string{
		`rule "a" does not apply: it matches, but another rule with priority 0 does too.`,
		`rule "b" does not apply: it matches, but another rule with priority 0 does too.`,
		`rule "c" does not apply: it matches, but its priority -3 is below the 0 of rule "a".`,
	}, sentences(t, conflict, nginx()))
	_, err := conflict.Explain(nginx())
	var c *Conflict
	require.ErrorAs(t, err, &c)

	for why, task := range map[string]*sample.Task{
		"nothing of it could be read": {TID: 1, TGID: 1},
		"it is a thread of 1":         {TID: 2, TGID: 1, ID: &sample.Identity{}},
		"it is a kernel thread":       {TID: 2, TGID: 2, ID: &sample.Identity{}, Flags: sample.FlagKernelThread},
		"it has ended":                {TID: 2, TGID: 2, ID: &sample.Identity{}, State: 'Z'},
	} {
		_, err := conflict.Explain(task)
		assert.ErrorContains(t, err, why)
		got, err := conflict.Match(task)
		require.NoError(t, err)
		assert.Nil(t, got)
	}
}

func TestCheck(t *testing.T) {
	s := parsed(t, rule("a: comm = 'nginx'", "b: user = 'www-data'\ncommand = 'two'", "idle: comm = 'nobody'"))
	one, two := nginx(), nginx()
	two.ID.Cmdline = "two"
	report := s.Check([]*sample.Task{one, two, started(5, "sh")})
	require.Len(t, report.Matches, 1)
	assert.Equal(t, Match{one, s.Rules[0]}, report.Matches[0])
	require.Len(t, report.Refused, 1)
	assert.Same(t, two, report.Refused[0].Task)
	assert.Equal(t, "b", report.Refused[0].B.Name)
	assert.Equal(t, s.Rules[1:], report.Idle)
}

// TestMatchIsCheap: most processes match no rule, and execs come by the thousand.
func TestMatchIsCheap(t *testing.T) {
	s, task := parsed(t, many(maxRules, "comm = 'c%d'")), nginx()
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = s.Match(task) }))
}

func BenchmarkMatch(b *testing.B) {
	s, task := parsed(b, many(maxPatterns, "comm = 'c%d*'")), nginx()
	for b.Loop() {
		_, _ = s.Match(task)
	}
}

// TestMayMatch is that what a comm alone rules out needs not be read.
func TestMayMatch(t *testing.T) {
	names := parsed(t, rule("a: comm = 'a'", "b: comm = 'b*'"))
	assert.True(t, names.MayMatch("a"))
	assert.True(t, names.MayMatch("bc"))
	assert.False(t, names.MayMatch("c"))
	assert.True(t, parsed(t, rule("u: user = 'root'")).MayMatch("c"))
	e := New(names, Limits{})
	exec(t, e, started(1, "a"), 0)
	assert.True(t, e.Cares(1, "c"), "it has had a rule")
	assert.False(t, e.Cares(2, "c"))
	assert.False(t, names.Triggers() || names.Places())
	assert.True(t, parsed(t, rule("u: comm = 'a'\nplace = 'pack'\nwhen = 'delay > 5'")).Triggers())
	assert.True(t, parsed(t, rule("u: comm = 'a'\nplace = 'pack'")).Places())
}

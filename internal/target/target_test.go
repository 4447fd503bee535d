package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/sample"
)

const self = kernel.TID(900)

func tasks() []*sample.Task {
	process := func(pid kernel.TID, id sample.Identity) *sample.Task {
		return &sample.Task{TID: pid, TGID: pid, ID: &id}
	}
	thread := func(pid, tid kernel.TID, comm string) *sample.Task {
		return &sample.Task{TID: tid, TGID: pid, ID: &sample.Identity{Comm: comm, User: "www", UID: 33}}
	}
	kthread := process(2, sample.Identity{Comm: "ksoftirqd/0", User: "root", Cgroup: "/"})
	kthread.Flags = sample.FlagKernelThread
	return []*sample.Task{
		process(1, sample.Identity{Comm: "systemd", Cmdline: "/sbin/init splash", Exe: "/usr/lib/systemd/systemd", User: "root", Cgroup: "/init.scope"}),
		kthread,
		process(10, sample.Identity{Comm: "nginx", Cmdline: "nginx: master process", User: "root", Cgroup: "/system.slice/nginx.service"}),
		process(11, sample.Identity{Comm: "nginx", Cmdline: "nginx: worker process", User: "www", UID: 33, Cgroup: "/system.slice/nginx.service/w1"}),
		thread(11, 12, "nginx"),
		thread(11, 13, "iou-wrk-11"),
		process(20, sample.Identity{Comm: "a-very-long-nam", Cmdline: "/opt/a-very-long-name --fast", Exe: "/opt/a-very-long-name", User: "1234", UID: 1234, Cgroup: "/system.slice-not"}),
		process(21, sample.Identity{Comm: ") (\n\x1b[2J", Cmdline: ""}),
		{TID: 30, TGID: 30}, // nothing known of it
		process(self, sample.Identity{Comm: "piton", Cmdline: "piton nginx*", User: "root", Cgroup: "/system.slice"}),
	}
}

func TestResolve(t *testing.T) {
	tests := []struct {
		target string
		want   []kernel.TID
	}{
		{"10", []kernel.TID{10}},
		{"12", []kernel.TID{12}}, // a thread
		{"30", []kernel.TID{30}},
		{"900", []kernel.TID{900}}, // piton itself, by number only
		{"nginx", []kernel.TID{10, 11}},
		{"ngin", nil},
		{"NGINX", nil},
		{"init", []kernel.TID{1}}, // the first word of its command
		{"systemd", []kernel.TID{1}},
		{"a-very-long-name", []kernel.TID{20}}, // comm is cut, the executable is not
		{"a-very-long-nam", []kernel.TID{20}},
		{"iou-wrk-11", []kernel.TID{13}}, // a thread's own name
		{"piton", nil},
		{"ng*", []kernel.TID{10, 11}},
		{"*", []kernel.TID{1, 2, 10, 11, 20, 21}},
		{"p?ton", nil},
		{"thread:/nginx/", []kernel.TID{10, 11, 12}}, // every thread, leaders too
		{"thread:/^iou-/", []kernel.TID{13}},
		{"thread:/^no such/", nil},
		{"ksoftirqd/0", []kernel.TID{2}},
		{"ksoft*/0", []kernel.TID{2}},
		{"[ab]-very*", []kernel.TID{20}},
		{"/^ngi/", []kernel.TID{10, 11}},
		{"/wrk/", []kernel.TID{13}},
		{"/pit/", nil},
		{`/\n/`, []kernel.TID{21}},
		{"cmd:/worker/", []kernel.TID{11}},
		{"cmd:/nginx/", []kernel.TID{10, 11}},
		{"user:root", []kernel.TID{1, 10}}, // no kernel threads, not piton
		{"user:33", []kernel.TID{11}},
		{"user:1234", []kernel.TID{20}},
		{"user:nobody", nil},
		{"cgroup:/system.slice", []kernel.TID{10, 11}},
		{"cgroup:system.slice/nginx.service/", []kernel.TID{10, 11}},
		{"cgroup:/", []kernel.TID{1, 10, 11, 20}},
		{"/opt/a-very-long-name", []kernel.TID{20}}, // the whole path
		{"/opt/*", []kernel.TID{20}},
		{"/usr/bin/nginx", nil},
	}
	for _, tt := range tests {
		t.Run(tt.target, func(t *testing.T) {
			e, err := Parse(tt.target)
			require.NoError(t, err)
			got, err := Resolve([]Expr{e}, tasks(), self)
			var tids []kernel.TID
			for _, task := range got {
				tids = append(tids, task.TID)
			}
			assert.Equal(t, tt.want, tids)
			var none NoMatchError
			if tt.want == nil {
				require.ErrorAs(t, err, &none)
				assert.Equal(t, tt.target, none.Target)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

// TestAncestors is that a pattern does not mean the sudo, or the shell, that started piton with
// that pattern, whichever process it is; by number or name it is meant.
func TestAncestors(t *testing.T) {
	process := func(pid, parent kernel.TID, comm, cmdline string) *sample.Task {
		return &sample.Task{TID: pid, TGID: pid, PPID: parent, ID: &sample.Identity{Comm: comm, Cmdline: cmdline, User: "root", Cgroup: "/x"}}
	}
	list := []*sample.Task{process(1, 0, "sh", "sh -c piton nice cmd:/server/ 5"), process(40, 1, "server", "server"),
		process(50, 1, "sudo", "sudo piton nice cmd:/server/ 5"), {TID: 51, TGID: 50, ID: &sample.Identity{Comm: "server"}},
		process(self, 50, "piton", "piton nice cmd:/server/ 5")}
	for word, want := range map[string][]kernel.TID{
		"cmd:/server/": {40}, "/s/": {40}, "s*": {40}, "user:root": {40}, "user:0": {40}, "cgroup:/x": {40}, "thread:/server/": {40},
		"sudo": {50}, "sh": {1}, "1": {1}, "50": {50}, "sud*": nil, "cmd:/^sudo/": nil,
	} {
		e, err := Parse(word)
		require.NoError(t, err)
		got, _ := Resolve([]Expr{e}, list, self)
		var tids []kernel.TID
		for _, task := range got {
			tids = append(tids, task.TID)
		}
		assert.Equal(t, want, tids, word)
	}
}

// TestUserIsBoth is that a program which lends its user is nobody's.
func TestUserIsBoth(t *testing.T) {
	lent := &sample.Task{TID: 5, TGID: 5, ID: &sample.Identity{Comm: "su", User: "root", TwoUsers: true}}
	for _, word := range []string{"user:root", "user:0"} {
		e, err := Parse(word)
		require.NoError(t, err)
		assert.Equal(t, word == "user:root", e.ByName())
		_, err = Resolve([]Expr{e, e.WithUser(0)}, []*sample.Task{lent}, self)
		assert.Error(t, err, word)
	}
}

func TestResolveSeveral(t *testing.T) {
	var exprs []Expr
	for _, word := range []string{"cmd:/worker/", "nosuch", "nginx", "77"} {
		e, err := Parse(word)
		require.NoError(t, err)
		exprs = append(exprs, e)
	}
	got, err := Resolve(exprs, tasks(), self)
	require.Len(t, got, 2, "each task once, in the order of the tasks")
	assert.Equal(t, kernel.TID(10), got[0].TID)
	assert.EqualError(t, err, "no process matches \"nosuch\"\nthere is no process or thread 77")

	got, err = Resolve(nil, tasks(), self)
	assert.Empty(t, got, "no target never means everything")
	assert.NoError(t, err)
	got, err = Resolve([]Expr{{}}, tasks(), self)
	assert.Empty(t, got)
	assert.Error(t, err)
}

func TestParseErrors(t *testing.T) {
	for _, word := range []string{
		"", "  ", "0", "-5", "007", "user:+33", "user: 33", "user:33 ", "user:033", "user:-33", "user:4294967295", "user:4294967296", "user:a:b", "99999999999", "4294967297", "//", "/(/", "/abc", "[a", "cmd:", "cmd:nginx", "cmd://", "cmd:/(/", "thread:", "thread:x", "thread://", "thread:/(/", "user:", "cgroup:", "cgroup:../..", "cgroup:/a/../..", "cgroup:..",
	} {
		_, err := Parse(word)
		var syntax SyntaxError
		require.ErrorAs(t, err, &syntax, "%q", word)
		assert.Equal(t, word, syntax.Text)
	}
}

func TestPID(t *testing.T) {
	e, err := Parse("3641")
	require.NoError(t, err)
	pid, ok := e.PID()
	assert.True(t, ok)
	assert.Equal(t, kernel.TID(3641), pid)
	assert.False(t, e.NeedsIdentity())
	for _, word := range []string{"nginx", "36*", "/3641/", "user:3641"} {
		e, err := Parse(word)
		require.NoError(t, err)
		_, ok := e.PID()
		assert.False(t, ok, word)
	}
}

func FuzzParse(f *testing.F) {
	for _, word := range []string{"3641", "nginx", "ng*", "[", "/x/", "/", "cmd:/a b/", "user:balu", "cgroup:/a", "é:", "-1"} {
		f.Add(word)
	}
	list := tasks()
	f.Fuzz(func(t *testing.T, word string) {
		e, err := Parse(word)
		if err != nil {
			var syntax SyntaxError
			require.ErrorAs(t, err, &syntax)
			return
		}
		got, err := Resolve([]Expr{e}, list, self)
		if (len(got) == 0) != (err != nil) {
			t.Fatalf("%q: %d tasks and error %v", word, len(got), err)
		}
		for _, task := range got {
			if _, number := e.PID(); !number && task.TGID == self {
				t.Fatalf("%q means piton itself", word)
			}
		}
	})
}

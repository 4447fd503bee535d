package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	p, err := Parse([]byte(`version = 1
[isolation]
cpus = "node:1"
[machine]
default_irq_affinity = "0-3"
[[task]]
name = "nginx*"
thread = "/^worker/"
cpus_each = ["0", "1"]
nice = -5
[[kthread]]
command = '\[ksoftirqd/.*\]'
policy = "fifo:2,reset-on-fork"
[[irq]]
device = "0000:09:00.0"
cpus = "2"
[[queue]]
nic = "eth0"
queue = "rx-*"
rps = ""
rps_flows = 0
[sysctl]
kernel.numa_balancing = 0
"net.ipv4.tcp_mem" = "1	2  3"
"-net.ipv4.conf.eth0/1.forwarding" = "1"
`))
	require.NoError(t, err)
	assert.Equal(t, "node:1", p.Isolation.CPUs)
	require.Len(t, p.Tasks, 1)
	assert.Equal(t, "[[task]] of line 6", p.Tasks[0].Label())
	assert.Equal(t, `name "nginx*" and thread "/^worker/"`, p.Tasks[0].Matchers())
	assert.Equal(t, KernelThreads, p.Kthreads[0].kind)
	assert.Empty(t, *p.Queues[0].RPS)
	assert.Equal(t, []Sysctl{
		{Name: "kernel.numa_balancing", Value: "0", line: 23},
		{Name: "net.ipv4.conf.eth0/1.forwarding", Value: "1", Optional: true, line: 25},
		{Name: "net.ipv4.tcp_mem", Value: "1 2 3", line: 24},
	}, p.sysctls)
	file, err := SysctlPath(p.sysctls[1].Name)
	require.NoError(t, err)
	assert.Equal(t, "net/ipv4/conf/eth0.1/forwarding", file)
	assert.Equal(t, p.sysctls[1].Name, SysctlName(file))
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"no version", "[[task]]\n", 1, 0, "version = 0"},
		{"later version", "\nversion = 2\n", 2, 1, "version = 2"},
		{"torn", "version = 1\n[[task]\nname = 'x'\n", 2, 7, "expected"},
		{"unknown table", "version = 1\n\n[tasks]\n", 3, 2, `no setting "tasks"`},
		{"unknown setting", "version = 1\n[[task]]\nname = 'x'\n  niceness = 3\n", 4, 3, `no setting "task.niceness"`},
		{"wrong type", "version = 1\n[[task]]\nname = 5\nnice = 1\n", 3, 8, "integer"},
		{"a table", "version = 1\n[[task]]\nname = 'x'\nnice = {x = 1}\n", 4, 8, "inline table"},
		{"a list", "version = 1\n[[task]]\nname = 'x'\nnice = [1]\n", 4, 8, "array"},
		{"no number", "version = 1\n[[task]]\nname = 'x'\nnice = 'five'\n", 4, 1, "is not a number"},
		{"nice", "version = 1\n[[task]]\nname = 'x'\nnice = 20\n", 4, 1, "out of range"},
		{"policy", "version = 1\n[[task]]\nname = 'x'\n policy = 'fifo:100'\n", 4, 2, "1 (lowest) to 99"},
		{"bare priority", "version = 1\n[[task]]\nname = 'x'\npolicy = '10'\n", 4, 1, "fifo:10"},
		{"bare number", "version = 1\n[[task]]\nname = 'x'\npolicy = 10\n", 4, 1, "fifo:10"},
		{"I/O", "version = 1\n[[task]]\nname = 'x'\nioprio = 'fast'\n", 4, 1, "class"},
		{"CPUs", "version = 1\n[[task]]\nname = 'x'\ncpus = '0;rm'\n", 4, 1, "not a CPU number"},
		{"CPUs of an optional item", "version = 1\n[[task]]\nname = 'x'\noptional = true\n cpus = 'nod:1'\n", 5, 2, `"nod:1" is neither`},
		{"a range of three", "version = 1\n[[irq]]\naction = 'x'\ncpus = '0-3-5'\n", 4, 1, "not a CPU number"},
		{"backwards", "version = 1\n[[task]]\nname = 'x'\ncpus_each = ['0', '7-4']\n", 4, 1, "runs backwards"},
		{"isolation", "version = 1\n[isolation]\ncpus = '1,'\n", 3, 1, "a term is missing"},
		{"nothing set", "version = 1\n[[task]]\nname = 'x'\n", 2, 3, "sets nothing"},
		{"means all", "version = 1\n[[task]]\nthread = 'x'\nnice = 1\n", 3, 1, "every task"},
		{"a number", "version = 1\n[[task]]\nname = '3641'\nnice = 1\n", 3, 1, "another task after the next start"},
		{"another form", "version = 1\n[[task]]\nname = 'user:bob'\nnice = 1\n", 3, 1, "is no name"},
		{"threads by name", "version = 1\n[[task]]\nname = 'thread:/^worker/'\nnice = 1\n", 3, 1, "is no name: the other ways have keys of their own"},
		{"regex", "version = 1\n[[task]]\ncommand = '('\nnice = 1\n", 3, 1, "missing closing )"},
		{"glob", "version = 1\n[[irq]]\naction = '['\ncpus = '1'\n", 3, 1, "no glob"},
		{"both", "version = 1\n[[task]]\nname='x'\ncpus = '1'\ncpus_each = ['1']\n", 5, 1, "exclude each other"},
		{"thread of a kernel thread", "version = 1\n[[kthread]]\nname='x'\nthread = 'y'\nnice = 1\n", 4, 1, "no threads"},
		{"irq means all", "version = 1\n[[irq]]\ncpus = '1'\n", 2, 3, "every interrupt line"},
		{"queue", "version = 1\n[[queue]]\nnic = 'e'\nqueue = 'rx-0'\n", 2, 3, "sets nothing"},
		{"sysctl type", "version = 1\n[sysctl]\n'kernel.x' = 1.5\n", 3, 1, "whole number"},
		{"sysctl name", "version = 1\n[sysctl]\n'../../etc/passwd' = 1\n", 3, 1, "not the name of a kernel setting"},
		{"bytes", "version = 1\n\xff\n", 2, 1, "invalid character"},
		{"rtctl", "# rtctl\nkswapd:f:99:*:\\[kswapd\\]$\nnonsense\n", 3, 0, "no rtctl group"},
		{"rtctl priority", "kswapd:f:0:*:\\[kswapd\\]$\n", 1, 0, "1 (lowest) to 99"},
		{"rtctl mask", "kswapd:o:0:0x:\\[kswapd\\]$\n", 1, 0, "no mask"},
		{"tuna", "[categories]\nvm=VM\n[vm]\nnonsense\n", 4, 0, "neither"},
		{"tuna name", "[categories]\nvm=VM\n[vm]\nswappiness=1\n", 4, 0, "not the name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Contains(t, e.Error(), tt.want)
			assert.Equal(t, [2]int{tt.line, tt.column}, [2]int{e.Line, e.Column}, e.Error())
		})
	}
}

// TestParseLimits has files that would take minutes, or all memory: each is one
// clear error.
func TestParseLimits(t *testing.T) {
	numbered := func(head, format string, n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const sysctl = "version = 1\n[sysctl]\n"
	const maxLine, maxSigns, maxTables, maxSysctls = 1 << 20, 500_000, 30_000, 10_000 // taskfile's
	for _, tt := range []struct{ name, text, want string }{
		{"size", strings.Repeat("#", MaxSize+1), "larger than 16 MiB"},
		{"a line", "version = 1\n" + strings.Repeat("a", maxLine+1), "line 2: the line is longer than 1048576 bytes"},
		{"unknown keys", numbered("", "k%d = 1\n", 20_000), `line 1, column 1: there is no setting "k0"`},
		{"unknown keys of one item", numbered("version = 1\n[[task]]\nname = 'x'\n", "k%d = 1\n", 20_000), `line 4, column 1: there is no setting "task.k0"`},
		{"unknown keys inline", "version = 1\ntask = [\n  {name = 'x', nice = 1}, {name = 'y', niec = 1}]\n", `line 3, column 40: there is no setting "task.niec"`},
		{"kernel settings", numbered(sysctl, "'vm.k%d' = 1\n", maxSysctls+1), "line 10003, column 1: the file has more than 10000 kernel settings"},
		{"kernel settings inline", "version = 1\nsysctl = {" + numbered("a = 1", ", b%d = 1", maxSysctls) + "}\n", "more than 10000 kernel settings"},
		{"tables", "version = 1\n" + strings.Repeat("[[task]]\n", maxTables+1), "line 30002, column 3: the file has more than 30000 tables"},
		{"values", sysctl + "x = [" + strings.Repeat("1,\n", maxSigns) + "]\n", "more than 500000 keys, dots and values"},
		{"a key's parts", sysctl + strings.Repeat("a.a.a.a = 1\n", maxSigns/4) + "\n", "more than 500000 keys, dots and values"},
		{"depth", sysctl + "x = " + strings.Repeat("[", 1<<19) + "\n", "nested more than"},
		{"expression", "version = 1\n[[task]]\nnice = 1\ncommand = '" + strings.Repeat("x", 1<<19) + "'\n", "line 4, column 1: the regular expression is longer than 16384 bytes"},
		{"expressions", "version = 1\n" + numbered("", "[[task]]\nnice = 1\ncommand = 'x{1000}%d'\n", 500), "with this one they have more than 262144 instructions"},
		{"expressions of names", "version = 1\n" + numbered("", "[[task]]\nnice = 1\nname = '/x{1000}%d/'\n", 500), "with this one they have more than 262144 instructions"},
		{"expressions of rtctl", numbered("", "a:f:1:*:x{1000}%d\n", 500), "with this one they have more than 262144 instructions"},
		{"glob", "version = 1\n[[task]]\nnice = 1\ncgroup = '" + strings.Repeat("*", 1<<19) + "'\n", "line 4, column 1: it is longer than 16384 bytes"},
		{"CPUs", "version = 1\n[[task]]\nname = 'x'\ncpus = '" + strings.Repeat("1,", 1<<18) + "1'\n", "it is longer than 65536 bytes"},
		{"rtctl", strings.Repeat("a:f:1:*:x\n", maxLines+1), "more than 20000 lines"},
		{"tuna", "[sysctl]\n" + strings.Repeat("vm.swappiness=1\n", maxLines), "more than 20000 lines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Contains(t, e.Error(), tt.want)
		})
	}
}

// BenchmarkParseUnknown has the same time for a key at both sizes where reading is
// linear.
func BenchmarkParseUnknown(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			text := "version = 1\n" + strings.Repeat("[[task]]\nname = 'x'\nnice = 1\n", n) + "unknown = 1\n"
			for b.Loop() {
				if _, err := Parse([]byte(text)); err == nil {
					b.Fatal("the last key is unknown")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
		})
	}
}

// rtctlText is what tuna save writes.
const rtctlText = `# Generated by tuna
# Format is: <groupname>:<sched>:<prio>:<regex>

kthreads:*:1:*:\[.*\]$

irq:f:50:*:\[irq\/.*\]$
kswapd0:o:0:0x3:\[kswapd0\]$
big:r:7:0x1,0x80000000:\[big\]$
`

func TestRtctl(t *testing.T) {
	p, err := Parse([]byte(rtctlText))
	require.NoError(t, err)
	assert.Equal(t, []Task{
		{Command: `\[irq\/.*\]$`, Policy: "FIFO:50", Optional: true, kind: AllTasks, line: 6},
		{Command: `\[kswapd0\]$`, Policy: "OTHER", CPUs: "0-1", Optional: true, kind: AllTasks, line: 7},
		{Command: `\[big\]$`, Policy: "RR:7", CPUs: "31-32", Optional: true, kind: AllTasks, line: 8},
	}, p.any)
}

// The lines that tuna save writes where names are odd, masks long, or policies not
// its own; generate_rtgroups is the same in 0.15 and 0.19.
func TestRtctlLines(t *testing.T) {
	for line, want := range map[string]Task{
		`sugov:0:d:0:0x1:\[sugov:0\]$`:                     {Command: `\[sugov:0\]$`, CPUs: "0"},
		`sugov:0:d:0:*:\[sugov:0\]$`:                       {},
		`tmux: server:i:0:0x3:\[tmux: server\]$`:           {Command: `\[tmux: server\]$`, Policy: "IDLE", CPUs: "0-1"},
		`:o:0:*:\[\]$`:                                     {Command: `\[\]$`, Policy: "OTHER"},
		`:o:0:*:\[\/.*\]$`:                                 {Command: `\[\/.*\]$`, Policy: "OTHER"},
		`c++:b:0:*:\[c++\]$`:                               {Command: `\[c\+\+\]$`, Policy: "BATCH"},
		`c++:o:0:*:\[c++\/.*\]$`:                           {Command: `\[c\+\+\/.*\]$`, Policy: "OTHER"},
		`back\slash:o:0:*:\[back\slash\]$`:                 {Command: `\[back\\slash\]$`, Policy: "OTHER"},
		`k:f:99:*:.*:o:0:*:\[k:f:99:*:.*\]$`:               {Command: `\[k:f:99:\*:\.\*\]$`, Policy: "OTHER"},
		`;semi:o:0:*:\[;semi\]$`:                           {Command: `\[;semi\]$`, Policy: "OTHER"},
		`reset:n:7:0x2:\[reset\]$`:                         {Command: `\[reset\]$`, CPUs: "1"},
		`offline:o:0::\[offline\]$`:                        {Command: `\[offline\]$`, Policy: "OTHER"},
		`offline:o:0:0x0:\[offline\]$`:                     {Command: `\[offline\]$`, Policy: "OTHER"},
		`many:f:1:0xff,0xffffffff:\[many\]$`:               {Command: `\[many\]$`, Policy: "FIFO:1", CPUs: "0-39"},
		`sirq-timer:f:1:*:\[(sirq|softirq)-timer\/.*\]$`:   {Command: `\[(sirq|softirq)-timer\/.*\]$`, Policy: "FIFO:1"},
		"\xff:o:0:*:\\[\xff\\]$":                           {Command: `\[.\]$`, Policy: "OTHER"}, // written under a locale without UTF-8
		`rcu_exp_par_gp_kthread_worker:o:0:*:\[rcu\/.*\]$`: {Command: `\[rcu\/.*\]$`, Policy: "OTHER"},
		`group:r:5:^/usr/bin/daemon(d|e):x$`:               {Command: `^/usr/bin/daemon(d|e):x$`, Policy: "RR:5"}, // of rtctl itself
	} {
		p, err := Parse([]byte(`kthreads:*:1:*:\[.*\]$` + "\n" + line + "\n"))
		require.NoError(t, err, line)
		if want.Command == "" { // leaves all alone
			assert.Empty(t, p.any, line)
			continue
		}
		want.kind, want.Optional, want.line = AllTasks, true, 2
		assert.Equal(t, []Task{want}, p.any, line)
	}
}

// TestTunaSave reads what tuna 0.15 and 0.19 of Debian saved, as a user to whom
// all processes of others look like kernel threads.
func TestTunaSave(t *testing.T) {
	for _, name := range []string{"tuna-0.15.rtctl", "tuna-0.19.rtctl"} {
		p, err := Parse(readTestdata(t, name))
		require.NoError(t, err, name)
		at := map[int]Task{}
		for _, task := range p.any {
			at[task.line] = task
		}
		groups := 0
		for number, line := range meaningful(readTestdata(t, name), rtctlComments) {
			if groups++; !strings.HasPrefix(line, "kthreads:*:") {
				assert.Contains(t, at, number, "%s: %s", name, line)
			}
		}
		assert.Greater(t, groups, 40, name)
	}
}

func readTestdata(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(tb, err)
	return data
}

func TestTunaConf(t *testing.T) {
	p, err := Parse([]byte("#List\n[categories]\nvm = VM\n[vm]\nvm.swappiness = 0,100,10\nvm.laptop_mode = 0,5,\n" +
		"net.ipv4.conf.eth0\\.1.forwarding = 1\n[off]\nkernel.x = 1\n[guiAlias]\nnet.core = core\n"))
	require.NoError(t, err)
	assert.Equal(t, []Sysctl{
		{Name: "vm.swappiness", Value: "10", Optional: true, line: 5},
		{Name: "net.ipv4.conf.eth0/1.forwarding", Value: "1", Optional: true, line: 7},
	}, p.sysctls)
	assert.Len(t, p.Notes, 1)

	p, err = Parse([]byte("[sysctl]\nvm.dirty_ratio=10\nkernel.sem=1 2 3 4\n"))
	require.NoError(t, err)
	assert.Equal(t, 2, len(p.sysctls), "a profile of tuned")
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		rtctlText, "version = 1\n[[task]]\nname = 'x'\nnice = 1\n", "[sysctl]\na.b = x\n", "[sysctl]\nb.a=1\na.b=1\na.b=2\n", "[categories]\nk=K\n[k]\na.b=1\n", "[categories]\n[0]\n=",
		"version = 1\n[sysctl]\na.b.c = 1\n'a/b' = \"\\u0007\"\n", string(Encode(Capture(tuned().State, CaptureOptions{All: true}))),
		"version = 1\n[[task]]\nname = '[a-'\nthread = '/(/'\ncpus_each = ['']\n", "a:f:1:0x1:(\n", "[sysctl]\n0.0=\"\xd2",
		string(readTestdata(f, "tuna-0.15.rtctl")), string(readTestdata(f, "tuna-0.19.rtctl")),
	} {
		f.Add([]byte(text))
	}
	s := tuned().State
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 {
				t.Fatalf("%v has no position", err)
			}
			return
		}
		r := Resolve(p, s)
		r.Requests("fuzz")
		r.Blocked()
		if len(p.any) > 0 {
			return // has no form of its own
		}
		p.Notes = nil // they are for who reads the file, and comments in what is written
		again, err := Parse(Encode(p))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, Encode(p))
		}
		if string(Encode(again)) != string(Encode(p)) {
			t.Fatalf("written again it differs:\n%s\n%s", Encode(p), Encode(again))
		}
	})
}

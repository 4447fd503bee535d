package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
)

// TestNonsense gives every flag and every command something that it cannot
// take: exit 2, one sentence, nothing on stdout. Its targets are no process, so
// that a mistake which is let pass changes none.
func TestNonsense(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"pni 3", `no command "pni"; did you mean pin?`},
		{"zzzz", `no command "zzzz"`},
		{"--nosuch", "unknown flag: --nosuch"},
		{"-n 5", "--count is for --headless"},
		{"-o json", "--output is for --headless"},
		{"--pin 1", "--pin is for --headless"},
		{"--yes", "--yes is for --headless"},
		{"--headless -n 0", "from 1 to"},
		{"--headless -n -1", "from 1 to"},
		{"--headless -n x", "from 1 to"},
		{"--headless -d 10ms", "100ms to 1m"},
		{"--headless -d 2h", "100ms to 1m"},
		{"--headless -d x", "such as 1s"},
		{"--headless -d nan", "such as 1s"},
		{"--headless -o xml", "table, json, csv"},
		{"--headless --columns nosuch", `no column "nosuch"`},
		{"--headless --columns pid,pid", "twice"},
		{"--headless --sort nosuch", `no column "nosuch"`},
		{"--headless --filter cpu=", "a value is missing"},
		{"--headless --filter nosuch=1", `no column "nosuch"`},
		{"--headless --pid x", "not a process or thread number"},
		{"--headless --pid 0", "not a process or thread number"},
		{"--headless --pid -3", "not a process or thread number"},
		{"--headless --pid 99999999999", "not a process or thread number"},
		{"--headless --pin 0", "missing --pid: use --pid PID"},
		{"--headless --pid 2147483647 --pin", "needs an argument"},
		{"--headless --pid 2147483647 --pin most-loaded", "neither CPUs nor one of"},
		{"--headless --pid 2147483647 --pin 3-1", "runs backwards"},
		{"--headless --pid 2147483647 --pin 0 --within 1", "--within needs a strategy"},
		{"--headless --pid 2147483647 --within 1", "needs something to change"},
		{"--headless --pid 2147483647 --nice 20", "nice 20 is out of range"},
		{"--headless --pid 2147483647 --nice x", "is not a number"},
		{"--headless --pid 2147483647 --policy nosuch", "no such policy"},
		{"--headless --pid 2147483647 --policy fifo:100", "1 (lowest) to 99"},
		{"--headless --pid 2147483647 --policy fifo --rtprio 0", "from 1 to 99"},
		{"--headless --pid 2147483647 --policy other --rtprio 5", "--rtprio is for --policy fifo and rr"},
		{"--headless --pid 2147483647 --policy fifo:3 --rtprio 5", "disagree"},
		{"--headless --pid 2147483647 --rtprio 5", "needs something to change"},
		{"--headless --pid 2147483647 --nice 1 --rtprio 5", "need --policy"},
		{"--headless --pid 2147483647 --ioprio 9", "the class must be"},
		{"--headless --pid 2147483647 --nice 1 --thread --tree", "exclude each other"},
		{"--headless --pid 2147483647 --nice 1 --sort cpu", "--sort is for samples"},
		{"--headless --dry-run", "needs something to change"},
		{"--headless extra", `no command "extra"`},
		{"record", "missing -o: use -o FILE"},
		{"record -o /dev/null x", "takes no"},
		{"record -o /dev/null --names all", "full, comm"},
		{"record -o /dev/null --max 5", "a size such as 500M"},
		{"record -o /dev/null --keep 1s", "1m0s to"},
		{"replay --headless", "takes one FILE"},
		{"replay /dev/null", "missing --headless"},
		{"demo 1", `CPUS is "1": it must be a whole number from 2 to 512`},
		{"demo 513", `CPUS is "513"`},
		{"demo x", `CPUS is "x"`},
		{"demo 2 3", "takes one number of CPUs, not 2"},
		{"pin", "needs a target"},
		{"pin 2147483647 --cpu x", `"x"`},
		{"pin 2147483647 --cpu 0 --place spread", "exclude each other"},
		{"pin 2147483647 --cpu 0 --within 0", "--cpu and --within exclude each other"},
		{"pin 2147483647 --place nosuch", `"nosuch" is no placement`},
		{"pin 2147483647 --within llc:x", "--within"},
		{"pin cmd:x", "cmd:/regex/"},
		{"pin /[/", "missing closing"},
		{"pin user:", "a name or a number"},
		{"pin 0", "not the number of a process"},
		{"nice 2147483647", "needs a target and a nice value"},
		{"nice 2147483647 x", "is not a number"},
		{"nice 2147483647 -21", "out of range"},
		{"nice 2147483647 --nosuch 5", "unknown flag"},
		{"policy 2147483647", "needs a target and a policy"},
		{"policy 2147483647 deadline", "deadline"},
		{"ionice 2147483647 best-effort:8", "0 (first) to 7"},
		{"undo x", "not the number of a journal entry"},
		{"undo 01", "not the number of a journal entry"},
		{"undo +1", "not the number of a journal entry"},
		{"keep 01", "not the number of a journal entry"},
		{"undo --all 3", "exclude each other"},
		{"undo --since 10m --last 2", "exclude each other"},
		{"undo --since nosuch", "neither a duration"},
		{"undo --since 2999-01-01", "in the future"},
		{"undo --last 0", "from 1 to"},
		{"irq nosuch", "there are irq default, follow, hint, list, move"},
		{"irq", "needs one of default, follow, hint, list"},
		{"cookie nosuch", "there are cookie clear, create, share"},
		{"export", "needs one of shell, systemd"},
		{"completion nosuch", "there are completion bash, fish"},
		{"help nosuch", `no command or topic "nosuch"`},
		{"help irq nosuch", `no command or topic "irq nosuch"`},
		{"pin 2147483647 --cpu=", "--cpu is empty: it needs CPUS"},
		{"pin 2147483647 --place=", "--place is empty: it needs HOW"},
		{"--headless --pid 2147483647 --pin=", "--pin is empty"},
		{"--headless --columns=", "--columns is empty: it needs COLUMN,..."},
		{"run --nice= -- true", "--nice is empty"},
		{"move 0 -t ,", "--targets is empty: it needs TARGETS"},
		{"move 0 -t 2147483647 --irqs=", "--irqs is empty: it needs IRQS"},
		{"spread 0 --targets= -t 2147483647", "--targets is empty: it needs TARGETS"},
		{"pin 2147483647 --dry-run=x", "true or false"},
		{"undo --all=x", `--all "x": it must be true or false`},
		{"irq move", "needs an interrupt"},
		{"irq move 24", "use --cpu"},
		{"irq move 24 --cpu x", `"x"`},
		{"irq default", "needs CPUS"},
		{"irq default 0 1", "one list of CPUs"},
		{"irq queues --rps 0", "missing interface"},
		{"irq queues eth0 --rps x", `"x"`},
		{"irq queues eth0 --queue 0", "nothing to set"},
		{"irq queues eth0 --rps 0 --queue x", "no list of numbers"},
		{"irq queues eth0 --rfs-entries 5", "all share it"},
		{"irq queues --rps-flows -1", "from 0 to"},
		{"journal -n 0", "from 1 to"},
		{"journal 1 2", "takes one entry"},
		{"journal abc", "not the number of a journal entry"},
		{"journal 01", "not the number of a journal entry"},
		{"journal 0", "not the number of a journal entry"},
		{"journal abc -o json", "not the number of a journal entry"},
		{"journal 1 -n 2", "--count and entry 1 exclude each other"},
		{"run", "needs a command"},
		{"run --nice 1", "needs a command"},
		{"run --pin x -- true", "neither CPUs"},
		{"bench", "needs a workload: nqueens, matrix"},
		{"bench nosuch", `unknown workload "nosuch"`},
		{"bench nqueens -n 19", "from 1 to 18"},
		{"bench nqueens -n x", "from 1 to 18"},
		{"bench nqueens --threads 0", "from 1"},
		{"bench nqueens --runs 0", "from 1 to"},
		{"bench nqueens --place nosuch", "nosuch"},
		{"bench nqueens --place normal --place normal", "twice"},
		{"bench nqueens --place fifo:100", "1 to 99"},
		{"bench nqueens extra", "takes no"},
		{"bench matrix --mapping nosuch", "must be one of"},
		{"watch", "needs a target"},
		{"watch 2147483647 --for x", "such as 1s"},
		{"watch 2147483647 --for 0", "1ms to"},
		{"watch 2147483647 --thread --tree", "exclude each other"},
		{"watch 1 -d 1s", "between tables of --wakes"},
		{"watch --wakes -d 1ms", "100ms to"},
		{"watch --wakes --changes", "exclude each other"},
		{"watch 2147483647 -o csv", "table, json"},
		{"doctor extra", "takes no"},
		{"doctor -o csv", "table, json"},
		{"topo extra", "takes no"},
		{"topo -o xml", "table, json, csv"},
	} {
		r := newHome(t).run(strings.Fields(tt.args)...)
		assert.Equal(t, exit.Usage, r.code, "piton %s: %s", tt.args, r.err)
		assert.Contains(t, r.err, tt.want, "piton %s", tt.args)
		assert.Empty(t, r.out, "piton %s", tt.args)
		assert.Equal(t, 1, strings.Count(r.err, "\n"), "piton %s: one line, not %q", tt.args, r.err)
	}
}

// TestEmptyWords gives commands the word that a script has for a variable which
// is not set.
func TestEmptyWords(t *testing.T) {
	for _, verb := range []string{"pin", "isolate", "include", "save", "apply", "verify", "undo", "keep", "journal", "watch", "what-is", "sysctl", "irq move", "irq default", "export shell"} {
		r := newHome(t).run(append(strings.Fields(verb), "")...)
		assert.Equal(t, exit.Usage, r.code, "piton %s \"\": %s", verb, r.err)
		assert.Empty(t, r.out, verb)
	}
}

func TestHelp(t *testing.T) {
	r := newHome(t).run("--help")
	assert.Zero(t, r.code)
	assert.Contains(t, r.out, "Exit codes:")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
		assert.NotEmpty(t, c.Short, c.CommandPath())
		if c.HasParent() && c.Parent().Name() == "piton" && c.Runnable() {
			assert.NotEmpty(t, c.Example, c.CommandPath())
			assert.NotEmpty(t, c.Long, c.CommandPath())
		}
	}
	walk(newRoot(&app.App{}))
	r = newHome(t).run("-V")
	assert.Zero(t, r.code)
	assert.Regexp(t, `^piton \S+.* go1\.`, r.out)
	r = newHome(t).run("completion", "bash")
	assert.Zero(t, r.code)
	assert.Contains(t, r.out, "complete")
}

func TestNegativeNumbersAreValues(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"nice 3641 -5", "nice -- 3641 -5"},
		{"nice 3641 -5 --dry-run", "nice --dry-run -- 3641 -5"},
		{"nice -o json 3641 -5", "nice -o json -- 3641 -5"},
		{"nice -ojson --host-root / 3641 -5", "nice -ojson --host-root / -- 3641 -5"},
		{"nice --dry-run -- 3641 -5", "nice --dry-run -- 3641 -5"},
		{"nice 3641 5 --output=json", "nice --output=json -- 3641 5"},
		{"nice 3641 -x", "nice -x -- 3641"},
		{"pin 3641 --cpu 3", "pin 3641 --cpu 3"},
		{"--headless --pid 1 --nice -5", "--headless --pid 1 --nice -5"},
	} {
		got := argsFor(newRoot(&app.App{}), strings.Fields(tt.in))
		assert.Equal(t, tt.want, strings.Join(got, " "))
	}
}

func TestTheScreenNeedsATerminal(t *testing.T) {
	r := newHome(t).run()
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "--headless")
	assert.Equal(t, 1, strings.Count(r.err, "\n"))
	assert.Empty(t, r.out)
	cmd := newHome(t).program()
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, exit.Failed, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(out), "--headless")
}

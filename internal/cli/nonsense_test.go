package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/kernel"
)

// nobody is the number of no process (PID_MAX_LIMIT of 64 bits is 4194304).
const nobody = "2147483647"

// nonsense are values that nothing takes. None of them means a task, a CPU, a
// command or an interrupt of the machine.
func nonsense(t *testing.T) []string {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, os.Symlink("nothing", at("dangling")))
	require.NoError(t, os.WriteFile(at("huge"), make([]byte, 17<<20), 0o600))
	require.NoError(t, os.WriteFile(at("binary"), []byte("\x7fELF\x00\x01\xff\n=[[{"), 0o600))
	const million = 1 << 20
	return []string{
		"", " ", "\t\n", "\x01\x02\x7f", "\x1b[31mred\x1b[0m", "a\nb\nc", "\xff\xfe", "\u202egnp.exe", "漢字🎉é", strings.Repeat("é", 100_000),
		"-", "--", "---", "-=", "=", ",", ",,,,", ":", "^^", ";", "%s%n%d", "$(id)", "';--", "nosuchthing",
		"-1", "1.5.5", "NaN", "1e999", "0x", "99999999999999999999", "-99999999999999999999", "5-2", "0-", "0-1000000000", "0-4294967296:2", "0-9:0",
		"node:-1", "llc:999999", "core:x", "fifo:0", "rr:100", "deadline:1/2", "deadline:9s/1ms/1ms", "best-effort:9",
		"/(/", "/a{1000}{1000}/", "[a", "cmd:/(/", "user:", "user:no such user", "cgroup:../..", "thread:x", "irq:", "irq:99999999",
		strings.Repeat("x", million), strings.Repeat("9", million), strings.Repeat("70000,", million/6), strings.Repeat(",", million),
		"/" + strings.Repeat("x", million) + "/", strings.Repeat("[", million), "0x" + strings.Repeat("f", million), strings.Repeat("../", million/3),
		dir, at("fifo"), at("loop"), at("dangling"), at("huge"), at("binary"), at("binary/x"), "/dev/zero", "/dev/full", "/proc/self/fd/0", "/proc/self/cwd/x",
	}
}

// none is a word for commands that take no such word.
const none = "nosuchword"

// harmless are arguments with which a command fails or prints, so that a value of a
// flag which is let pass does nothing.
var harmless = map[string]string{
	"":                "--headless --pid " + nobody,
	"apply":           "/dev/null",
	"bench attach":    nobody,
	"bench paper":     "nosuchpaper",
	"bench run":       "--runs 1 -- /nosuchcommand",
	"cookie clear":    nobody,
	"cookie create":   nobody,
	"cookie share":    nobody + " " + nobody,
	"export shell":    nobody,
	"export systemd":  nobody,
	"include":         "65000",
	"ionice":          nobody + " idle",
	"irq default":     "65000",
	"irq follow":      nobody,
	"irq move":        "nosuchline",
	"irq queues":      "nosuchnic",
	"irq reset":       "nosuchline",
	"irq spread":      "nosuchline",
	"isolate":         "65000",
	"keep":            "99999999",
	"move":            "65000 -t " + nobody,
	"nice":            nobody + " 5",
	"pin":             nobody,
	"policy":          nobody + " batch",
	"run":             "-- /nosuchcommand",
	"save":            "/dev/full " + nobody,
	"slice":           nobody + " 1ms",
	"spread":          "65000 -t " + nobody,
	"sysctl":          "kernel.nosuch",
	"uclamp":          nobody + " 0,512",
	"weight":          nobody + " 50",
	"quota":           nobody + " 50%",
	"undo":            "99999999",
	"verify":          "/dev/null",
	"watch":           nobody,
	"what-is":         nobody,
	"record":          "-o /dev/null",
	"replay":          "/dev/null --headless",
	"rescue":          "nosuchtask",
	"journal":         "99999999",
	"bench report":    "nosuchstudy",
	"bench activity":  none,
	"bench chat":      none,
	"bench ctxswitch": none,
	"bench matrix":    none,
	"bench memlat":    none,
	"bench nqueens":   none,
	"bench stream":    none,
	"bench stripio":   none,
	"bench wakeup":    none,
	"doctor":          none,
	"irq hint serve":  none,
	"irq list":        none,
	"profiles":        none,
	"topo":            none,
	"schema":          "nosuchtype",
	"version":         none,
}

// around are the arguments before and behind a word that stands for what a command
// takes.
var around = map[string][2]string{
	"nice": {"", "5"}, "policy": {"", "batch"}, "ionice": {"", "idle"}, "slice": {"", "1ms"}, "uclamp": {"", "0,512"}, "weight": {"", "50"}, "quota": {"", "50%"},
	"irq move": {"", "--cpu 0"}, "move": {"", "-t " + nobody}, "spread": {"", "-t " + nobody}, "cookie share": {nobody, ""},
	"save": {"/dev/full", ""}, "replay": {"", "--headless"}, "irq queues": {"--rps 0", ""}, "bench run": {"--runs 1", ""}, "": {"--headless -n 1 -d 100ms", ""},
}

// TestThousandNonsenseArguments gives every command and every flag what nobody should
// give it: one sentence, the right exit code, below 200 MB, in bounded time, and nothing
// is changed.
func TestThousandNonsenseArguments(t *testing.T) {
	// Its name is its own: save refuses to tell it from a namesake that differs.
	values, pid, before := nonsense(t), newNamesake(t).start(), interruptMasks(t)
	cpus := affinityOf(t, pid)
	was, err := sched.Attr(pid)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	h, runs, turn := newHome(t), 0, 0
	try := func(args ...string) {
		runs++
		if !testing.Short() || runs%10 == 0 { // make long runs all
			h.nonsense(args)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "piton"), " ")
		verb := strings.Fields(path)
		if c.Flags().Lookup("dry-run") != nil {
			verb = append(verb, "--dry-run")
		}
		takesWords := harmless[path] != "" && harmless[path] != none
		for i, value := range values {
			if i%4 != turn%4 || !takesWords && i%16 != turn%16 {
				continue
			}
			if strings.HasPrefix(value, "-") { // as a word, not as a flag
				try(slices.Concat(verb, strings.Fields(around[path][0]), []string{"--", value}, strings.Fields(around[path][1]))...)
			}
			if value != "--" { // alone it ends the flags
				try(slices.Concat(verb, strings.Fields(around[path][0]), []string{value}, strings.Fields(around[path][1]))...)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "demote" { // it would make the test itself a real-time task
				return
			}
			for range 3 { // another three of the values for each flag
				turn++
				value := values[turn%len(values)]
				try(slices.Concat(verb, []string{"--" + f.Name + "=" + value}, strings.Fields(harmless[path]))...)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app.App{}))
	for _, value := range values {
		if value != "--" {
			try("help", value)
		}
		try("completion", value)
		if filepath.IsAbs(value) && !strings.HasSuffix(value, "/dangling") && !slices.Contains([]string{"/dev/zero", "/proc/self/fd/0"}, value) { // what a profile cannot replace
			try("save", value, fmt.Sprint(pid))
		}
		try("--dry-run", "sysctl", value+"=1")
		try("nice", "--dry-run", nobody, value)
		try("policy", "--dry-run", nobody, value)
		try("ionice", "--dry-run", nobody, value)
		try("slice", "--dry-run", nobody, value)
		try("uclamp", "--dry-run", nobody, value)
		try("move", "0", "--dry-run", "-q", value)
		try("pin", nobody, "--dry-run", "--within", value)
	}
	try("move", "0", "--dry-run", "-t", strings.Repeat(nobody+",", 100_000))
	t.Logf("%d runs", runs)
	assert.Greater(t, runs, 1000)
	assert.Equal(t, before, interruptMasks(t))
	assert.Equal(t, cpus, affinityOf(t, pid))
	setting, err := sched.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, was, setting)
	assert.Empty(t, h.run("journal", "-o", "json").out)
	left, err := filepath.Glob("*")
	require.NoError(t, err)
	assert.Empty(t, left, "no file was made")
}

// nonsense runs piton, and checks how it ends.
func (h *home) nonsense(args []string) {
	name := fmt.Sprintf("piton %.60q", args)
	var out, errs bytes.Buffer
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	allocated := memory.TotalAlloc
	code := Main(app.IO{Args: args, Env: h.env, In: strings.NewReader(""), Out: &out, Err: &errs, Exec: func(string, []string, []string, func(kernel.TID) error) error {
		return errors.New("the test would have become another program")
	}})
	runtime.ReadMemStats(&memory)
	text := errs.String()
	assert.Less(h.t, (memory.TotalAlloc-allocated)>>20, uint64(200), "%s: MB", name)
	assert.Contains(h.t, []int{exit.Failed, exit.Usage, exit.Some, exit.NotPermitted, 126, 127}, code, "%s: %.500q", name, text)
	assert.Empty(h.t, fmt.Sprintf("%.200s", out.String()), name)
	assert.Equal(h.t, 1, strings.Count(text, "\n"), "%s: one line, not %.500q", name, text)
	assert.Less(h.t, len(text), 1100, "%s: a sentence, not %.500q", name, text)
	assert.True(h.t, utf8.ValidString(text), name)
	assert.Equal(h.t, -1, strings.IndexFunc(strings.TrimSuffix(text, "\n"), unicode.IsControl), "%s: %.500q", name, text)
}

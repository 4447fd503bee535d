package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/field"
)

var updateSchema = flag.Bool("update", false, "rewrite testdata/schema.json where names were only added")

// schemaFile is the schema that scripts were promised.
const schemaFile = "testdata/schema.json"

// promised reads it.
func promised(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// TestSchemaIsKept is that piton schema says what was promised: a type or name that went, a type that
// changed, or a name that a line may lack now, is a failure that -update does not heal.
func TestSchemaIsKept(t *testing.T) {
	r := newHome(t).run("schema")
	require.Zero(t, r.code, r.err)
	var now map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.out), &now))
	withoutWords(now)
	if _, err := os.Stat(schemaFile); err == nil {
		for line, was := range promised(t)["$defs"].(map[string]any) {
			is, _ := now["$defs"].(map[string]any)[line].(map[string]any)
			require.NotNil(t, is, "lines of type %s went", line)
			before := was.(map[string]any)
			assert.Subset(t, is["required"], before["required"], line)
			for name, property := range before["properties"].(map[string]any) {
				have, _ := is["properties"].(map[string]any)[name].(map[string]any)
				require.NotNil(t, have, "%s: %s went", line, name)
				assert.Equal(t, property, have, "%s: %s has another type", line, name)
			}
		}
	}
	text, err := json.MarshalIndent(now, "", " ")
	require.NoError(t, err)
	if *updateSchema && !t.Failed() {
		require.NoError(t, os.WriteFile(schemaFile, text, 0o644))
	}
	assert.True(t, assert.ObjectsAreEqual(now, promised(t)), "names were added: go test ./internal/cli -run TestSchemaIsKept -update")
}

// withoutWords removes the descriptions, which may be worded anew.
func withoutWords(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, isText := s["description"].(string); isText {
			delete(s, "description")
		}
		for _, each := range s {
			withoutWords(each)
		}
	case []any:
		for _, each := range s {
			withoutWords(each)
		}
	}
}

func TestSchemaOfAType(t *testing.T) {
	h := newHome(t)
	for args, want := range map[string][]string{
		"irq": {"irq.irq"}, "cpu": {"headless.cpu", "topo.cpu"}, "topo.cpu": {"topo.cpu"}, "study": {"bench.study"},
	} {
		r := h.run("schema", args)
		require.Zero(t, r.code, r.err)
		var document map[string]any
		require.NoError(t, json.Unmarshal([]byte(r.out), &document))
		assert.Equal(t, want, slices.Sorted(maps.Keys(document["$defs"].(map[string]any))), args)
	}
	assert.Equal(t, exit.Usage, h.run("schema", "nosuch").code)
	assert.Equal(t, exit.Usage, h.run("schema", "irq", "cpu").code)
}

// validator validates lines against the promised schema, and remembers which types it has seen.
type validator struct {
	t     *testing.T
	kinds map[string]*jsonschema.Schema
	seen  map[string]bool
}

func newValidator(t *testing.T) *validator {
	document := promised(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("piton.json", document))
	v := &validator{t: t, kinds: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	for line := range document["$defs"].(map[string]any) {
		s, err := c.Compile("piton.json#/$defs/" + line)
		require.NoError(t, err, line)
		v.kinds[line] = s
	}
	return v
}

// lines validates the output of a command, whose lines are of these families.
func (v *validator) lines(out string, what any, families ...string) {
	v.t.Helper()
	assert.NotEmpty(v.t, out, what)
	for text := range strings.Lines(out) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(v.t, err, "%v: %s", what, text)
		object := value.(map[string]any)
		at := slices.IndexFunc(families, func(family string) bool { return v.kinds[family+"."+fmt.Sprint(object["type"])] != nil })
		if !assert.GreaterOrEqual(v.t, at, 0, "%v: no schema of %s", what, text) {
			continue
		}
		line := families[at] + "." + fmt.Sprint(object["type"])
		v.seen[line] = true
		if !assert.NoError(v.t, v.kinds[line].Validate(value), "%v: %s", what, text) {
			return // one is enough
		}
		properties := v.kinds[line].Properties
		for name := range object {
			if properties[name] == nil {
				v.t.Errorf("%v: %s is not in the schema of %s: make golden adds new names", what, name, line)
			}
		}
	}
}

// TestOutputIsAsPromised validates what each command prints with -o json.
func TestOutputIsAsPromised(t *testing.T) {
	h, v, pid, cpu := newHome(t), newValidator(t), fmt.Sprint(sleeper(t)), fmt.Sprint(oneCPU(t))
	profiles := filepath.Join(strings.TrimPrefix(h.env[1], "XDG_CONFIG_HOME="), "piton/profiles")
	require.NoError(t, os.MkdirAll(profiles, 0o755))
	drifted := newNamesake(t)
	drifted.start()
	file := filepath.Join(profiles, "p.toml")
	require.NoError(t, os.WriteFile(file, []byte("version = 1\n[[task]]\nname = \""+drifted.name+"\"\nioprio = 'be:2'\n"+
		"[[task]]\nname = \"nosuchtask\"\nnice = 3\noptional = true\n"), 0o644))
	host, standing := irqHost(t), filepath.Join(t.TempDir(), "rules.toml")
	require.NoError(t, os.WriteFile(standing, []byte(levelRule("one", drifted.name, 3)+"[[rule]]\nname = 'idle'\ncomm = 'nosuchtask'\nnice = 1\n"+
		"[[rule]]\nname = 'two'\ncomm = 'sleep'\nnice = 1\n[[rule]]\nname = 'three'\ncomm = 'slee?'\nnice = 1\n"), 0o644))
	for _, tt := range []struct {
		args     string
		families string
	}{
		{"--headless -n 1 -d 100ms", "headless"},
		{"--headless -n 1 -d 100ms --threads --columns " + allColumnIDs(), "headless"},
		{"topo --all", "topo"}, {"--host-root " + host + " topo", "topo"},
		{"irq list --now", "irq"}, {"irq list -d 100ms", "irq"}, {"--host-root " + host + " irq list -d 100ms", "irq"},
		{"irq queues", "queues"}, {"irq follow " + pid, "follow"}, {"--host-root " + host + " irq queues", "queues"},
		{"what-is " + pid + " 2 kworker/0:0 RES NET_RX", "what-is"}, {"--host-root " + host + " what-is irq:24", "what-is"},
		{"doctor", "doctor"},
		{"watch " + pid + " --for 50ms", "watch"}, {"watch --wakes --for 200ms", "watch"}, {"watch --changes --for 200ms", "watch"}, {"irq follow " + pid + " --show --for 200ms", "follow"}, {"auto " + pid + " --dry-run", "auto"},
		{"why " + pid + " --for 100ms", "why"},
		{"sysctl kernel.ostype", "sysctl"}, {"profiles", "profiles"},
		{"verify " + file, "verify profile"}, {"apply " + file + " --check", "profile change"},
		{"pin " + pid, "change"}, {"pin " + pid + " --cpu " + cpu + " --mem", "change"},
		{"ionice " + pid + " best-effort:5 --revert-after 1h", "change"}, {"keep", "keep"}, {"keep --all", "keep"},
		{"irq default " + cpu + " --dry-run", "change"}, {"isolate " + cpu + " --dry-run", "isolate change"},
		{"sysctl kernel.ostype=Linux --dry-run", "change"},
		{"rules check " + standing, "rules"}, {"rules explain " + pid + " " + standing, "rules"},
		{"undo --dry-run", "change"}, {"undo --all", "change"}, {"journal", "journal change"},
		{"bench nqueens -n 6 --runs 2 --warmup 0 --place normal --place cpu:" + cpu, "bench"}, {"bench report", "bench"},
	} {
		r := besideOthers(t, func() result { return h.run(append(strings.Fields(tt.args), "-o", "json")...) })
		if strings.HasPrefix(tt.args, "isolate") && r.out == "" {
			continue // of the only CPU
		}
		if r.code == exit.NotPermitted && r.out == "" {
			t.Log("not permitted: ", tt.args, ": ", r.err)
			continue
		}
		v.lines(r.out, tt.args+": "+r.err, strings.Fields(tt.families)...)
	}
	v.lines(h.rescue("--list", "-o", "json").out, "rescue", "rescue")
	d := startRules(t, h, levelRule("one", drifted.name, 3))
	eventually(t, "a rule is applied", func() bool { return len(d.lines("applied")) > 0 })
	v.lines(h.run("rules", "stop", "--undo", "-o", "json").out, "rules stop", "rules", "change")
	d.wait()
	v.lines(d.out.String(), "rules run", "rules")
	m := startMover(t, "1:20")
	m.freeze()
	w := startWatch(t, fmt.Sprint(m.pid))
	m.thaw()
	m.move()
	for _, object := range append(w.end(), w.first) {
		line, err := json.Marshal(object)
		require.NoError(t, err)
		v.lines(string(line), "watch", "watch")
	}
	var missing []string
	for line := range v.kinds {
		if !v.seen[line] {
			missing = append(missing, line)
		}
	}
	// They need what not every machine has: migrations, waits and eBPF, real-time tasks, memory to move, isolated CPUs. A search
	// takes half a minute, and TestAutoFindsTheCPU and TestAutoWatches validate it; TestHintServe does the echo of hints,
	// TestVMRuleFollows reads the line of a rule that steers.
	t.Log("not seen here: ", strings.Join(slices.Sorted(slices.Values(missing)), " "))
	assert.Subset(t, strings.Fields("watch.move watch.count watch.task watch.pair watch.wake watch.wake_summary watch.set watch.setter watch.set_summary follow.flow follow.follow rescue.rt_task change.memory isolate.stay isolate.gap isolate.gaps "+
		"isolate.verified isolate.unmovable auto.period auto.out auto.auto auto.look hint.serve hint.hints rules.steered why.wait why.blame why.blame_summary"), missing, "add a command that prints it")
}

// TestCSVHeadingsAreNames is that CSV has the names of the JSON lines as headings.
func TestCSVHeadingsAreNames(t *testing.T) {
	h, kinds, pid := newHome(t), newValidator(t).kinds, fmt.Sprint(sleeper(t))
	for args, line := range map[string]string{
		"--headless -n 1 --columns tid,comm,cpu": "headless.task", "topo": "topo.cpu", "irq list --now": "irq.irq", "irq queues": "queues.queue",
		"sysctl kernel.ostype": "sysctl.sysctl", "profiles": "profiles.profile", "nice " + pid + " 19 --dry-run": "change.change",
		"irq default 0 --dry-run": "change.change", "bench nqueens -n 4 --runs 1 --warmup 0 --place normal": "bench.run",
	} {
		r := h.run(append(strings.Fields(args), "-o", "csv")...)
		require.Zero(t, r.code, "%s: %s", args, r.err)
		head, _, _ := strings.Cut(r.out, "\n")
		for name := range strings.SplitSeq(head, ",") {
			if line == "headless.task" && (name == "tick" || name == "time") {
				continue // of the sample
			}
			assert.Contains(t, kinds[line].Properties, name, args)
		}
	}
}

func allColumnIDs() string {
	var ids []string
	for i := range field.Columns {
		ids = append(ids, field.Columns[i].ID)
	}
	return strings.Join(ids, ",")
}

// TestRemovedOrChangedFieldFails is that the test above would notice.
func TestRemovedOrChangedFieldFails(t *testing.T) {
	s := newValidator(t).kinds["topo.cpu"]
	line := strings.SplitAfter(newHome(t).run("topo", "-o", "json").out, "\n")
	text := line[len(line)-2]
	validate := func(text string) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		require.NoError(t, err)
		return s.Validate(value)
	}
	require.NoError(t, validate(text))
	assert.Error(t, validate(strings.Replace(text, `"online":true,`, "", 1)), "removed")
	assert.Error(t, validate(strings.Replace(text, `"online":true,`, `"online":"yes",`, 1)), "of another type")
	assert.Error(t, validate(strings.Replace(text, `"v":1,`, "", 1)))
}

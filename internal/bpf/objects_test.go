package bpf

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// embedded are this package's objects by the names of their sources.
var embedded = map[string]*[]byte{
	"walk": &walkObject, "seq": &seqObject, "count": &countObject, "moves": &movesObject, "ledger": &ledgerObject, "wakes": &wakesObject,
	"procevents": &proceventsObject, "noise": &noiseObject, "flows": &flowsObject, "changes": &changesObject,
}

// committed are all objects, those of the laboratory too: their paths without the ending.
func committed(t *testing.T) (paths []string) {
	t.Helper()
	for _, glob := range []string{"*_bpfel.o", "*/*_bpfel.o", "../lab/*/*_bpfel.o"} {
		found, err := filepath.Glob(glob)
		require.NoError(t, err)
		for _, path := range found {
			paths = append(paths, strings.TrimSuffix(path, "_bpfel.o"))
		}
	}
	require.Greater(t, len(paths), len(embedded))
	return paths
}

func readObject(t *testing.T, path string) []byte {
	t.Helper()
	object, err := os.ReadFile(path + "_bpfel.o")
	require.NoError(t, err)
	return object
}

// readSums reads objects.sum: by which clang the objects were made, and the sums
// of the files they were made of and with.
func readSums(t *testing.T) (clang string, sums map[string]string) {
	t.Helper()
	text, err := os.ReadFile("objects.sum")
	require.NoError(t, err)
	sums = map[string]string{}
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); {
		case len(words) == 3 && words[0] == "#" && words[1] == "clang":
			clang = words[2]
		case len(words) == 2:
			sums[words[1]] = words[0]
		default:
			t.Fatalf("objects.sum has the line %q", line)
		}
	}
	return clang, sums
}

// A source or an object that was changed without go generate is found without a
// compiler.
func TestObjectsAreOfTheseSources(t *testing.T) {
	clang, want := readSums(t)
	assert.NotEmpty(t, clang)
	got := map[string]string{}
	for _, glob := range []string{"generate.sh", "c/*", "../lab/c/*", "*_bpfel.o", "*/*_bpfel.o", "../lab/*/*_bpfel.o"} {
		paths, err := filepath.Glob(glob)
		require.NoError(t, err)
		for _, path := range paths {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			sum := sha256.Sum256(content)
			got[path] = fmt.Sprintf("%x", sum)
		}
	}
	assert.Equal(t, want, got, "run go generate ./internal/bpf with clang %s, which made the objects", clang)
}

// An object tells the text of each line that its code is of, so the sums cannot be
// put right by hand.
func TestObjectsHaveTheLinesOfTheirSources(t *testing.T) {
	sources := map[string][]string{}
	for _, name := range committed(t) {
		lines := 0
		for _, p := range loadSpec(t, readObject(t, name)).Programs {
			for i := range p.Instructions {
				l, ok := p.Instructions[i].Source().(*btf.Line)
				if !ok || l.LineNumber() == 0 { // of no line
					continue
				}
				path := l.FileName()
				if sources[path] == nil {
					text, err := os.ReadFile(path)
					require.NoError(t, err)
					sources[path] = strings.Split(string(text), "\n")
				}
				lines++
				n := int(l.LineNumber())
				require.LessOrEqual(t, n, len(sources[path]), "%s of %s", path, name)
				require.Equal(t, sources[path][n-1], l.Line(), "%s.o was made of another %s, line %d", name, path, n)
			}
		}
		assert.Greater(t, lines, 10, name)
	}
}

// TestObjectsMatchSources compiles the sources with whatever clang is here. The
// clang that made the objects must make the same bytes. Any other must make the
// same maps, variables, types, functions, calls, relocations and
// large constants, and its programs must do what the package's tests ask.
func TestObjectsMatchSources(t *testing.T) {
	dir := compileObjects(t)
	found, err := exec.Command("clang", "-dumpversion").Output()
	require.NoError(t, err)
	recorded, _ := readSums(t)
	same := strings.TrimSpace(string(found)) == recorded
	for _, name := range committed(t) {
		fresh, err := os.ReadFile(filepath.Join(dir, name+"_bpfel.o"))
		require.NoError(t, err)
		object := readObject(t, name)
		assert.Equal(t, describe(t, loadSpec(t, object)), describe(t, loadSpec(t, fresh)), name)
		if same {
			assert.True(t, bytes.Equal(object, fresh), "%s_bpfel.o is not what clang %s makes of %s.c", name, recorded, filepath.Base(name))
			continue
		}
		if embedded[name] != nil {
			replace(t, embedded[name], fresh)
		}
	}
	if same {
		return // these are the objects that all tests test
	}
	t.Logf("clang %s, the objects were made by %s", bytes.TrimSpace(found), recorded)
	t.Run("walk", TestWalkEqualsProc)
	t.Run("run queues", TestRunQueuesOfOnlineCPUs)
	t.Run("migrations", TestMigrationsAreExact)
	t.Run("moves", TestMovesInOrder)
	t.Run("ledger", TestLedgerAddsUp)
	t.Run("wakes", TestWakesAreExact)
	t.Run("flows", TestFlowsEqualWhatTheReaderSees)
}

func replace(t *testing.T, object *[]byte, by []byte) {
	before := *object
	t.Cleanup(func() { *object = before })
	*object = by
}

// compileObjects compiles the sources into a new folder, or skips without clang;
// with PITON_REQUIRE_CLANG, as in CI, that is a failure.
func compileObjects(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles for seconds what the run without -short has compiled")
	}
	for _, tool := range []string{"clang", "llvm-strip", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			require.Empty(t, os.Getenv("PITON_REQUIRE_CLANG"), "needs %s: %v", tool, err)
			t.Skip("needs ", tool, ": ", err)
		}
	}
	dir := filepath.Join(t.TempDir(), "bpf") // beside which are the laboratory's
	cmd := exec.Command("./generate.sh", dir)
	cmd.Env = append(os.Environ(), "GOPACKAGE=bpf")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

func loadSpec(t *testing.T, object []byte) *ebpf.CollectionSpec {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	require.NoError(t, err)
	return spec
}

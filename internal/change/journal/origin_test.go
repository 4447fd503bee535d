package journal

import (
	"fmt"
	"hash/crc32"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
)

// TestOriginOfFormat2 reads what pitons before format 3 have written.
func TestOriginOfFormat2(t *testing.T) {
	cpus := cpuset.Of(4, 5)
	tried := attr.Change{Object: attr.Object{PID: 1, TID: 1}, Attribute: attr.Nice, After: attr.NiceValue(5), Tried: []attr.Value{attr.NiceValue(5)}}
	for _, tt := range []struct {
		rec  Record
		want Origin
	}{
		{Record{Command: "piton pin 10"}, Origin{Kind: ByUser}},
		{Record{Reason: "isolate 4-5"}, Origin{Kind: ByIsolate, CPUs: cpus}},
		{Record{Reason: "include 4-5"}, Origin{Kind: ByInclude, CPUs: cpus}},
		{Record{Reason: "isolate x"}, Origin{Kind: ByUser}},
		{Record{Reason: "profile rt.toml"}, Origin{Kind: ByProfile}},
		{Record{Reason: "profile rt.toml; isolate 4-5"}, Origin{Kind: ByProfile, CPUs: cpus}},
		{Record{Reason: `rule "a"; rule "b"`}, Origin{Kind: ByRule}},
		{Record{Reason: "include 4", Undoes: []uint64{3}}, Origin{Kind: ByUndo}},
		{Record{Command: "piton guard: revert entry 3: it was not confirmed within 5s", Undoes: []uint64{3}}, Origin{Kind: ByGuard, Why: "it was not confirmed within 5s"}},
		{Record{Changes: []attr.Change{tried}}, Origin{Kind: ByTrial}},
	} {
		assert.Equal(t, tt.want, originOf2(&tt.rec), "%+v", tt.rec)
	}
	body := `{"v":2,"kind":"begin","id":1,"last":1,"time":"2026-11-20T21:00:00Z","reason":"isolate 4-5"}`
	j := open(t)
	require.NoError(t, os.WriteFile(j.path, fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE([]byte(body)), body), 0o600))
	undone(t, j, 1)
	entries := entriesOf(t, j)
	assert.Equal(t, []any{Origin{Kind: ByIsolate, CPUs: cpus}, true, uint64(2)}, []any{entries[0].Origin, entries[0].Undone, entries[1].ID})
}

func FuzzOriginOf2(f *testing.F) {
	for _, seed := range []string{"isolate 4-7", "include 1,3", "isolate", "isolate 4-", "include x", "profile x; isolate 3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := originOf2(&Record{Reason: text})
		isolation := o.Kind == ByIsolate || o.Kind == ByInclude || o.Kind == ByProfile
		if !o.CPUs.Empty() != isolation && o.Kind != ByProfile {
			t.Fatalf("%q: %+v", text, o)
		}
	})
}

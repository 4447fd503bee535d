package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
)

// A flipped bit anywhere in a line is seen, and what the line says is not used.
func TestAnyFlipIsDamage(t *testing.T) {
	j := open(t)
	finished(t, j, 10, attr.Done)
	sound, err := os.ReadFile(j.path)
	require.NoError(t, err)
	first := bytes.IndexByte(sound, '\n')
	for at := range first {
		data := bytes.Clone(sound)
		if data[at] ^= 1; data[at] == '\n' {
			continue // that would be two lines
		}
		require.NoError(t, os.WriteFile(j.path, data, 0o600))
		entries, damage, err := reopen(t, j).Entries()
		require.NoError(t, err)
		require.Empty(t, entries, "%s", data)
		require.Len(t, damage, 2, "the end has no beginning: %s", data)
		assert.Equal(t, []int{1, 2}, []int{damage[0].Line, damage[1].Line})
		assert.Contains(t, damage[0].Error(), "journal line 1 is damaged and not used (it stays in the file): ")
	}
	for at := first + 1; at < len(sound)-1; at++ { // the end is lost, the beginning is not
		data := bytes.Clone(sound)
		if data[at] ^= 1; data[at] == '\n' {
			continue
		}
		require.NoError(t, os.WriteFile(j.path, data, 0o600))
		entries, damage, err := reopen(t, j).Entries()
		require.NoError(t, err)
		require.Len(t, entries, 1)
		assert.False(t, entries[0].Finished)
		assert.True(t, entries[0].Undoable())
		require.Len(t, damage, 1, "%s", data)
	}
}

// A line that piton did not get to the end of is no damage, wherever it was killed, and
// the next line is one of its own.
func TestTornLastLineIsNoDamage(t *testing.T) {
	j := open(t)
	finished(t, j, 10, attr.Done)
	sound, err := os.ReadFile(j.path)
	require.NoError(t, err)
	first := bytes.IndexByte(sound, '\n') + 1
	for at := first; at < len(sound)-1; at++ {
		require.NoError(t, os.WriteFile(j.path, sound[:at], 0o600))
		torn := reopen(t, j)
		entries := entriesOf(t, torn)
		require.Len(t, entries, 1)
		assert.False(t, entries[0].Finished)
		require.Equal(t, uint64(2), finished(t, torn, 20, attr.Done))
		entries = entriesOf(t, torn)
		require.Len(t, entries, 2)
		require.Equal(t, entries, entriesOf(t, reopen(t, j)))
	}
}

// What a power failure leaves of a file whose last blocks were not on the disk yet: zeros up
// to its length. They are no damage, and what is written next can be read.
func TestZerosAtTheEndAreNoDamage(t *testing.T) {
	j := open(t)
	finished(t, j, 10, attr.Done)
	sound, err := os.ReadFile(j.path)
	require.NoError(t, err)
	first := bytes.IndexByte(sound, '\n') + 1
	for _, zeros := range []int{1, 100, tailSize, 3 * tailSize} {
		for _, at := range []int{first, first + 1, first + 40, len(sound) - 1, len(sound)} {
			require.NoError(t, os.WriteFile(j.path, append(bytes.Clone(sound[:at]), make([]byte, zeros)...), 0o600))
			left := reopen(t, j)
			entries := entriesOf(t, left)
			require.Len(t, entries, 1)
			assert.Equal(t, at == len(sound), entries[0].Finished)
			require.Equal(t, uint64(2), finished(t, left, 20, attr.Done))
			require.Len(t, entriesOf(t, left), 2)
			require.Equal(t, entriesOf(t, left), entriesOf(t, reopen(t, j)))
		}
	}
}

func TestDamageStaysAndIsNotUsed(t *testing.T) {
	line := func(r Record) string {
		b, err := r.Line()
		require.NoError(t, err)
		return string(b)
	}
	whole := line(Record{Kind: Begin, ID: 7, Last: 7, Boot: "x", Changes: []attr.Change{pinned(1, attr.Planned)}})
	bad := Record{Kind: Begin, ID: 8, Last: 8, Changes: []attr.Change{{Object: attr.Object{TID: 1}, Attribute: attr.Nice, Before: attr.Opaque("many"), After: attr.NiceValue(5)}}}
	body := `{"v":9,"id":30,"last":30}`
	later := fmt.Sprintf("%08x %s\n", crc32.ChecksumIEEE([]byte(body)), body)
	tests := map[string]struct {
		content string
		lines   []int
		next    uint64
	}{
		"nonsense inside":  {"\x00\x01 \x1b[2J\n" + whole, []int{1}, 8},
		"zeros at the end": {whole + "\x00\x00\x00\n", []int{2}, 8},
		"only nonsense":    {"hello\n", []int{1}, 1},
		"another version":  {whole + later, []int{2}, 31},
		"no checksum":      {whole + `{"v":1,"kind":"begin","id":30,"last":30}` + "\n", []int{2}, 31},
		"its number":       {strings.Replace(whole, `"x"`, `"y"`, 1), []int{1}, 8},
		"numbers after":    {whole + strings.Replace(line(Record{Kind: Begin, ID: 8, Last: 8, Boot: "x"}), `"x"`, `"y"`, 1), []int{2}, 9},
		"a value":          {whole + line(bad), []int{2}, 9},
		"no id":            {line(Record{Kind: Begin}) + whole, []int{1}, 8},
		"an id too high":   {line(Record{Kind: Begin, ID: 5, Last: 4}) + whole, []int{1}, 8},
		"no beginning":     {whole + line(Record{Kind: End, ID: 5, Last: 9}), []int{2}, 10},
		"blank lines":      {"\n" + whole + "\n\n", nil, 8},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			j := open(t)
			require.NoError(t, os.WriteFile(j.path, []byte(tt.content), 0o600))
			assert.Equal(t, tt.next, finished(t, j, 10, attr.Done))
			check := func() {
				entries, damage, err := j.Entries()
				require.NoError(t, err)
				var lines []int
				for _, d := range damage {
					lines = append(lines, d.Line)
				}
				assert.Equal(t, tt.lines, lines)
				last := entries[len(entries)-1]
				assert.Equal(t, tt.next, last.ID)
				assert.True(t, last.Finished)
				if len(entries) > 1 {
					assert.True(t, entries[0].PastBoot)
				}
			}
			check()
			data, err := os.ReadFile(j.path)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(string(data), tt.content), "nothing that was there is lost")
		})
	}
}

func FuzzJournal(f *testing.F) {
	r := Record{Kind: Begin, ID: 1, Last: 1}
	r.Changes = []attr.Change{{Object: attr.Object{PID: 1, TID: 1}, Attribute: attr.Nice, Before: attr.NiceValue(0), After: attr.NiceValue(5)}}
	begin, err := r.Line()
	require.NoError(f, err)
	end, err := Record{Kind: End, ID: 1, Last: 1, Undone: []uint64{1}}.Line()
	require.NoError(f, err)
	f.Add(append(begin, end...))
	f.Add(begin[:len(begin)/2])
	f.Add([]byte("{}\n\n[]\x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReading(Where{})
		r.take(data)
		if len(r.entries)+len(r.damage) > bytes.Count(data, []byte("\n")) {
			t.Fatal("more entries than lines")
		}
		for _, e := range r.entries {
			require.NotZero(t, e.ID)
		}
	})
}

// TestLargeFileIsNotRead: one that was made longer without being written would be read as zeros.
func TestLargeFileIsNotRead(t *testing.T) {
	for size, want := range map[int64]string{10 << 20: "", 100 << 20: "of it were never written (a hole), the limit is 64 MB", 400 << 20: "it has 400 MB, the limit is 256 MB"} {
		j := open(t)
		finished(t, j, 10, attr.Done)
		require.NoError(t, os.Truncate(j.path, size))
		_, _, err := j.Entries()
		r := Record{Kind: Begin}
		_, appendErr := reopen(t, j).Append(&r)
		if want == "" {
			require.NoError(t, errors.Join(err, appendErr))
			continue
		}
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, appendErr, want)
	}
}

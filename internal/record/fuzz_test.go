package record

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/model"
)

// FuzzReader holds the reader, and the model of what it returns, to any bytes: as a file, and
// as the contents of chunks whose CRC is right: a header, then samples.
func FuzzReader(f *testing.F) {
	file, _ := run(f, 14, 3)
	f.Add(file, false)
	f.Add(contents(f, file), true)
	f.Fuzz(func(t *testing.T, data []byte, inside bool) {
		if inside {
			parts := bytes.Split(data, []byte(between))
			data = packed(t, parts[0], parts[1:]...)
		}
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		var m *model.Model
		for {
			s, joined, err := r.Next()
			if err == io.EOF {
				return
			}
			require.NoError(t, err)
			if !joined {
				m = nil
			}
			m = model.Next(m, s, r.Topology())
		}
	})
}

// between stands between the contents of chunks in what is fuzzed.
const between = "\xff\xffnext\xff\xff"

// contents are those of a file's first block.
func contents(t testing.TB, file []byte) []byte {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	r.at, r.end, r.texts = r.blocks[0].first(), int64(len(file)), newTexts()
	require.NoError(t, r.unzip.Reset(&r.feed))
	var out [][]byte
	before := file[markBytes : markBytes+8]
	for r.at < r.end {
		_, raw, err := r.chunk(before)
		require.NoError(t, err)
		out, before = append(out, bytes.Clone(raw)), nil
	}
	return bytes.Join(out, []byte(between))
}

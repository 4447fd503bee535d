package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	table := NewTable(">PID", "NAME", "STATE")
	table.Add(7, "a\x1b[2J", "")
	table.Add(12345, "größe", "idle")
	var out bytes.Buffer
	table.Write(&out)
	assert.Equal(t, "  PID  NAME   STATE\n    7  a?[2J\n12345  größe  idle\n", out.String())
	out.Reset()
	f := Format{}
	f.Value = AsCSV
	table.WriteAs(&out, f)
	assert.Equal(t, "PID,NAME,STATE\n7,a?[2J,\n12345,größe,idle\n", out.String())
}

func TestLine(t *testing.T) {
	var l Line
	var out bytes.Buffer
	for range 2 { // its memory is used again
		l.Start("x").Add("n", 1).Text("a", "").Text("b", "é").Number("c", -1).Number("d", 0).Known("e", 1.5, false).
			Add("list", List([]string{"u", "v"})).AddObject("o", 2, func(i int) (string, any) { return string(rune('a' + i)), i }).Write(&out)
	}
	want := `{"type":"x","v":1,"n":1,"a":null,"b":"é","c":null,"d":0,"e":null,"list":["u","v"],"o":{"a":0,"b":1}}` + "\n"
	assert.Equal(t, want+want, out.String())
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	b, err := json.Marshal(map[string]string{"a": "\u007f\u0085ü"})
	require.NoError(t, WriteJSON(&out, b, err))
	assert.Equal(t, `{"a":"\u007f\u0085ü"}`+"\n", out.String())
	assert.EqualError(t, WriteJSON(&out, nil, errors.New("x")), "print a line of JSON: x")
}

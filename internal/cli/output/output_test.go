package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
)

func TestTable(t *testing.T) {
	table := NewTable(">PID", "NAME", "STATE")
	table.Add(7, "a\x1b[2J", "")
	table.Add(12345, "größe", "idle")
	var out bytes.Buffer
	table.Write(&out)
	assert.Equal(t, "  PID  NAME   STATE\n    7  a?[2J\n12345  größe  idle\n", out.String())
}

// row is a row of the list of TestList.
type row struct {
	n    int
	text string
}

// TestList writes one description as JSON, CSV, table and schema.
func TestList(t *testing.T) {
	defer func(before []description) { described = before }(described)
	l := NewList("family", "kind", "a row",
		Col("n", ">N", Int|Null, "a number", func(r row) any { return field.NonNegative(r.n) }),
		Col("text", "TEXT", Text|Null, "a text", func(r row) any { return field.NonEmpty(r.text) }).As(func(r row) string { return r.text + "!" }),
		Col("csv", "", Text, "empty", func(row) any { return "" }).InCSV(func(row) string { return "off" }),
		Col("list", "", Texts, "texts", func(row) any { return field.Values([]string{"u", "v"}) }),
		Col("o", "", Numbers|Chosen, "numbers", func(row) any { return []field.Member{{Name: "a", Value: 1.5}, {Name: "b", Value: 2}} }))
	rows := []row{{7, "é"}, {-1, ""}}
	as := func(format string) string {
		var out bytes.Buffer
		f := Format{}
		f.Value = format
		l.Write(&out, rows, f)
		return out.String()
	}
	assert.Equal(t, `{"type":"kind","v":1,"n":7,"text":"é","csv":"","list":["u","v"],"o":{"a":1.5,"b":2}}`+"\n"+
		`{"type":"kind","v":1,"n":null,"text":null,"csv":"","list":["u","v"],"o":{"a":1.5,"b":2}}`+"\n", as(AsJSON))
	assert.Equal(t, "n,text,csv,list,o\n7,é,off,u v,a:1.5 b:2\n,,off,u v,a:1.5 b:2\n", as(AsCSV))
	assert.Equal(t, "N  TEXT\n7  é!\n-  !\n", as(AsTable))
	schema, err := json.Marshal(Document(Schemas()[len(described)-1:]))
	require.NoError(t, err)
	assert.JSONEq(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"JSON lines of piton","anyOf":[{"$ref":"#/$defs/family.kind"}],
		"$defs":{"family.kind":{"type":"object","description":"a row","required":["type","v","n","text","csv","list"],"properties":{
		"type":{"const":"kind"},"v":{"const":1},"n":{"type":["integer","null"],"description":"a number"},
		"text":{"type":["string","null"],"description":"a text"},"csv":{"type":"string","description":"empty"},"list":{"type":"array","items":{"type":"string"},"description":"texts"},
		"o":{"type":"object","additionalProperties":{"type":"number"},"description":"numbers"}}}}}`, string(schema))
}

// TestOfStruct is the schema of what encoding/json writes.
func TestOfStruct(t *testing.T) {
	type inner struct {
		A int `json:"a"`
	}
	schema := OfStruct("family", "kind", "", struct {
		Type string          `json:"type"`
		P    *float64        `json:"p"`
		L    []inner         `json:"l,omitempty"`
		R    json.RawMessage `json:"r"`
	}{})
	text, err := json.Marshal(schema.definition()["properties"])
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":{"const":"kind"},"v":{"const":1},"p":{"anyOf":[{"type":"number"},{"type":"null"}]},"r":{},
		"l":{"type":["array","null"],"items":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}}`, string(text))
	assert.Equal(t, []string{"type", "v", "p", "r"}, schema.definition()["required"])
}

// TestWordsOfOthers is that a name turns nothing around on a terminal and calculates nothing
// in a spreadsheet, and that JSON has the same text.
func TestWordsOfOthers(t *testing.T) {
	hidden := "\u202e\u2066\u2028\u200b\u00ad\ufeff\U000e0041x"
	l := Selection("kind", []field.Column[string]{Col("text", "", Text, "", func(s string) any { return s }),
		Col("number", "", Int, "", func(string) any { return -5 })})
	line := string(l.Append(nil, hidden))
	for _, r := range line[:len(line)-1] {
		assert.True(t, unicode.IsPrint(r), "%q", line)
	}
	var back struct{ Text string }
	require.NoError(t, json.Unmarshal([]byte(line), &back))
	assert.Equal(t, hidden, back.Text)
	var out bytes.Buffer
	b, err := json.Marshal(back)
	require.NoError(t, WriteJSON(&out, b, err))
	assert.Equal(t, `{"Text":"\u202e\u2066\u2028\u200b\u00ad\ufeff\udb40\udc41x"}`+"\n", out.String())

	out.Reset()
	l.CSV(&out, []string{"=1+1", "+cmd", "-x", "@a", "-5", "+0.5", "-", "a=b", "\t=1"}, false)
	assert.Equal(t, "'=1+1,-5\n'+cmd,-5\n'-x,-5\n'@a,-5\n-5,-5\n+0.5,-5\n-,-5\na=b,-5\n\" =1\",-5\n", out.String())
	assert.Equal(t, "'=?", CSVText("=\u202e"))
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	b, err := json.Marshal(map[string]string{"a": "\u007f\u0085ü"})
	require.NoError(t, WriteJSON(&out, b, err))
	assert.Equal(t, `{"a":"\u007f\u0085ü"}`+"\n", out.String())
	assert.EqualError(t, WriteJSON(&out, nil, errors.New("x")), "print a line of JSON: x")
}

package proctable

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
)

func names(l *Layouts) (out []string) {
	all, _ := l.All()
	for _, one := range all {
		out = append(out, one.Name)
	}
	return out
}

func TestOwnLayoutsReplaceBuiltInOnes(t *testing.T) {
	own := []Layout{{Name: "mine", Sort: "pid"}, {Name: "io", Columns: []string{"pid"}}}
	l := NewLayouts(Layout{Sort: "nice"}, own)
	assert.Equal(t, []string{"main", "io", "migrations", "memory", "waits", "mine"}, names(l))
	assert.Equal(t, own, l.Own())
	assert.Equal(t, "nice", l.Present().Sort)

	require.NotNil(t, l.Choose("io", View{}))
	rename, remove := l.Fixed()
	assert.Contains(t, rename, "io is built in")
	assert.Empty(t, remove, "what the user made of it can go")
	l.Delete()
	assert.Equal(t, "main", l.Present().Name)
	assert.Equal(t, own[:1], l.Own())
	assert.Greater(t, len(l.Choose("io", View{}).Columns), 1, "it is there again as it was")

	l.SetColumns([]string{"pid", "tid"})
	assert.Equal(t, []string{"pid", "tid"}, l.Own()[1].Columns)
	assert.Equal(t, "write_bytes_per_s", l.Own()[1].Sort, "the rest of it stays")
}

func TestNamesOfLayouts(t *testing.T) {
	l := NewLayouts(Layout{}, nil)
	assert.ErrorContains(t, l.Save("main", View{}), "main is built in")
	for _, name := range []string{"", "a b", "a.b", "seventeen-letters", "é"} {
		assert.ErrorContains(t, l.Save(name, View{}), "1 to 16 letters", name)
	}
	require.NoError(t, l.Save("mine", View{Tree: ByGroup}))
	assert.ErrorContains(t, l.Rename("io"), "there is a layout io already")
	require.NoError(t, l.Rename("mine"))
	require.NoError(t, l.Rename("ours"))
	assert.Equal(t, []Layout{{Name: "ours", View: "groups"}}, l.Own())
	assert.Equal(t, "main", l.Next())
}

func TestALayoutSaysWhatAViewShows(t *testing.T) {
	sort, desc, err := field.ParseOrder("-nice")
	require.NoError(t, err)
	filter, err := field.ParseFilter("cpu>5")
	require.NoError(t, err)
	was := View{Sort: sort, Desc: desc, Filter: filter, Tree: ByParent}
	noted := (&Layout{Columns: []string{"pid", "user:12", "command"}}).Note(was)
	assert.Equal(t, Layout{Columns: []string{"pid", "user:12", "command"}, Sort: "-nice", View: "tree", Filter: "cpu>5"}, noted)
	var v View
	noted.Apply(&v)
	assert.Equal(t, map[string]int{"user": 12}, v.Widths)
	assert.Equal(t, "nice", v.Columns[2].ID, "the column of the order is there, before the command")
	assert.True(t, v.Chosen)
	v.Columns, v.Widths, v.Chosen = nil, nil, false
	assert.Equal(t, was, v)
}

func TestWidthsOfColumns(t *testing.T) {
	for text, want := range map[string]string{"pid:1": "2 to 200", "pid:201": "2 to 200", "pid:x": "2 to 200", "pidd": "unknown column"} {
		_, _, err := ParseColumn(text)
		assert.ErrorContains(t, err, want, text)
	}
	c, width, err := ParseColumn("USER:12")
	require.NoError(t, err)
	assert.Equal(t, "user:12", ColumnText(c.ID, width))
}

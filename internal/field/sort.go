package field

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"piton/internal/model"
)

// Sort orders rows, indices in m.Tasks, by the column as it is shown: figures that
// look alike are alike, and stay in their order. Rows without a value come last,
// whatever the direction. On the screen the order is calm because the figures are: see
// model.NextCalm.
func Sort(rows []int32, m *model.Model, c TaskColumn, desc bool) {
	if c.num != nil {
		sortNumbers(rows, m, c, desc)
		return
	}
	sortTexts(rows, m, c, desc)
}

// numKey holds one row's figure, so that it is computed once and not at every
// comparison.
type numKey struct {
	key       float64
	index, at int32 // at: where the row was
}

// sortNumbers sorts only what is not 0: of most columns that is little, as most
// tasks sleep.
func sortNumbers(rows []int32, m *model.Model, c TaskColumn, desc bool) {
	var keys []numKey
	zeros := make([]int32, 0, len(rows))
	for n, i := range rows {
		v := c.num(Row{M: m, I: int(i)})
		if c.rate {
			v = shownFixed(v)
		}
		switch {
		case v == 0:
			zeros = append(zeros, i)
			continue
		case v != v:
			v = math.Inf(1)
		case desc:
			v = -v
		}
		keys = append(keys, numKey{v, i, int32(n)})
	}
	slices.SortFunc(keys, func(a, b numKey) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	n := 0
	for _, k := range keys {
		if k.key > 0 && len(zeros) > 0 {
			n += copy(rows[n:], zeros)
			zeros = nil
		}
		rows[n] = k.index
		n++
	}
	copy(rows[n:], zeros)
}

// textKey is where in the memory of all a row's cell is.
type textKey struct{ start, end, index, at int32 }

func sortTexts(rows []int32, m *model.Model, c TaskColumn, desc bool) {
	keys := make([]textKey, len(rows))
	text := make([]byte, 0, 16*len(rows))
	for n, i := range rows {
		start, r := len(text), Row{M: m, I: int(i)}
		if c.text(r) != "" {
			text = c.Append(text, r)
		}
		keys[n] = textKey{int32(start), int32(len(text)), i, int32(n)}
	}
	slices.SortFunc(keys, func(a, b textKey) int {
		x, y := text[a.start:a.end], text[b.start:b.end]
		byText := compareText(x, y)
		switch {
		case byText == 0:
			return cmp.Compare(a.at, b.at)
		case len(x) == 0:
			return 1
		case len(y) == 0:
			return -1
		case desc:
			return -byText
		}
		return byText
	})
	for n := range keys {
		rows[n] = keys[n].index
	}
}

// compareText orders bytes, but the numbers in them by their size: 2 is before 10.
func compareText(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	from := n // where the number begins that the first difference is in
	for from > 0 && digit(a[from-1]) {
		from--
	}
	x, y := digits(a[from:]), digits(b[from:])
	if len(x) > 0 && len(y) > 0 {
		x, y = bytes.TrimLeft(x, "0"), bytes.TrimLeft(y, "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), bytes.Compare(x, y)); c != 0 {
			return c
		}
	}
	return bytes.Compare(a[n:], b[n:])
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// digits is the number that b begins with.
func digits(b []byte) []byte {
	n := 0
	for n < len(b) && digit(b[n]) {
		n++
	}
	return b[:n]
}

package field

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"piton/internal/model"
)

// Sort orders rows, indices in m.Tasks, by the column's figure as it is shown:
// rates that look alike are alike. Equal figures are ordered by tid, so that the
// order is steady from tick to tick; at a rate of 0, tasks that ran in the last
// minutes come before those that only sleep. Rows without a value come last,
// whatever the direction.
func Sort(rows []int32, m *model.Model, c Column, desc bool) { order(rows, m, c, desc, nil) }

func order(rows []int32, m *model.Model, c Column, desc bool, ranks *Ranks) {
	if c.num != nil {
		sortNumbers(rows, m, c, desc, ranks)
		return
	}
	sortTexts(rows, m, c.text, desc)
}

// numKey holds one row's figure, so that it is computed once and not at every
// comparison.
type numKey struct {
	key   float64
	index int32
}

// sortNumbers sorts only what is not 0: of most columns that is little, as most
// tasks sleep.
func sortNumbers(rows []int32, m *model.Model, c Column, desc bool, ranks *Ranks) {
	var keys []numKey
	zeros := make([]int32, 0, len(rows))
	for _, i := range rows {
		v := c.num(Row{M: m, I: int(i)})
		if c.rate {
			if c.span && awake(m, i) {
				v = ranks.of(m.Sample.Tasks[i].TID, v)
			}
			v = math.Round(v * 10)
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
		keys = append(keys, numKey{v, i})
	}
	slices.SortFunc(keys, func(a, b numKey) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return cmp.Compare(a.index, b.index) // Tasks are in order of tid
	})
	slices.Sort(zeros)
	if c.rate && c.span {
		awakeFirst(zeros, m)
	}
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

// awake reports whether a task ran while piton can remember.
func awake(m *model.Model, row int32) bool { return m.Tasks[row].SinceTick < math.MaxUint8 }

// awakeFirst moves the rows of tasks that are awake, which are few, to the front.
func awakeFirst(rows []int32, m *model.Model) {
	var front []int32
	to := len(rows)
	for _, i := range slices.Backward(rows) {
		if awake(m, i) {
			front = append(front, i)
		} else {
			to--
			rows[to] = i
		}
	}
	slices.Reverse(front)
	copy(rows, front)
}

type textKey struct {
	key   string
	index int32
}

func sortTexts(rows []int32, m *model.Model, text func(Row) string, desc bool) {
	keys := make([]textKey, len(rows))
	for n, i := range rows {
		keys[n] = textKey{text(Row{M: m, I: int(i)}), i}
	}
	slices.SortFunc(keys, func(a, b textKey) int {
		byText := strings.Compare(a.key, b.key)
		switch {
		case byText == 0:
			return cmp.Compare(a.index, b.index)
		case a.key == "":
			return 1
		case b.key == "":
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

package field

import "piton/internal/model"

var (
	blocks      = [model.MoveSteps]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	blocksASCII = [model.MoveSteps]string{"_", ".", ":", "-", "=", "+", "*", "#"}
)

// migrationHistory draws the migrations of a row at each of the last ticks, with the
// same height for the same rate in every row: 1, 2, 4 … 128 and more a second. A tick
// without any is blank, so that most of the list is.
func migrationHistory() TaskColumn {
	steps := func(r Row) model.MoveHistory { return r.Rates().Moves }
	c := real(TaskColumn{ID: "migrations_history", Title: "MIGRATIONS", Short: "MIG", Width: model.BounceLen, Desc: true, Needs: needMigrations,
		Help:    "migrations at each of the last ticks: blank none, then 1, 2, 4, 8, 16, 32, 64, 128 and more a second; sorts by their mean",
		Missing: whyRate,
		Append: func(dst []byte, r Row) []byte {
			h := steps(r)
			if !h.Known() {
				return appendNone(dst, r)
			}
			glyphs := &blocks
			if r.ASCII {
				glyphs = &blocksASCII
			}
			for tick := range model.BounceLen {
				if s := h.Step(tick); s > 0 {
					dst = append(dst, glyphs[s-1]...)
				} else {
					dst = append(dst, ' ')
				}
			}
			return dst
		}},
		func(r Row) float64 {
			h := steps(r)
			if !h.Known() {
				return nan
			}
			sum := 0
			for tick := range model.BounceLen {
				sum += max(0, perSecond(h.Step(tick)))
			}
			return float64(sum) / model.BounceLen
		})
	c.Type = TypeInts
	c.Value = func(r Row) any {
		h := steps(r)
		if !h.Known() {
			return nil
		}
		list := make([]any, model.BounceLen)
		for tick := range list {
			if v := perSecond(h.Step(tick)); v >= 0 {
				list[tick] = v
			}
		}
		return list
	}
	c.Right, c.span = false, true
	c.all = needMigrations
	return c
}

// perSecond is where a step begins, -1 for one that is not known.
func perSecond(step int) int {
	if step > 0 {
		return 1 << (step - 1)
	}
	return step
}

package field

import (
	"strconv"

	"piton/internal/sample"
)

// integer completes a column of whole numbers.
func integer(c TaskColumn, get func(Row) (int64, bool)) TaskColumn {
	c.Type, c.Right = TypeInt, true
	c.num = func(r Row) float64 {
		if v, ok := get(r); ok {
			return float64(v)
		}
		return nan
	}
	c.Value = func(r Row) any { return Known(get(r)) }
	c.Append = func(dst []byte, r Row) []byte {
		if v, ok := get(r); ok {
			return appendInt(dst, v)
		}
		return appendNone(dst, r)
	}
	return c
}

// counter completes a column of a counter that a sample may lack.
func counter(c TaskColumn, have sample.Have, get func(*sample.Task) uint64) TaskColumn {
	c.Desc = true
	return integer(c, func(r Row) (int64, bool) {
		return int64(get(r.Task())), r.Task().Have&have != 0
	})
}

// real completes a column of fractional numbers whose Append is given.
func real(c TaskColumn, get func(Row) float64) TaskColumn {
	c.Type, c.Right = TypeNumber, true
	c.num = get
	c.Value = func(r Row) any {
		v := get(r)
		return Known(v, v == v)
	}
	return c
}

// rate completes a column of the model's figures.
func rate(c TaskColumn, get func(Row) float32) TaskColumn {
	c.Desc, c.rate, c.span = true, true, true
	c.Missing = whyRate
	// Three decimals are more than any counter here resolves, and keep float32 noise
	// out of JSON.
	num := func(r Row) float64 { return round3(float64(get(r))) }
	c.Append = func(dst []byte, r Row) []byte {
		v := num(r)
		if v != v {
			return appendNone(dst, r)
		}
		return appendFixed(dst, v)
	}
	return real(c, num)
}

// now completes a figure that is like a rate but for the moment.
func now(c TaskColumn) TaskColumn {
	c.span = false
	return c
}

// words completes a column of tasks; "" means no value.
func words(c TaskColumn, get func(Row) string) TaskColumn {
	c = Words(c, get)
	c.text = get
	c.Append = func(dst []byte, r Row) []byte {
		if s := get(r); s != "" {
			return AppendClean(dst, s, r.ASCII)
		}
		return appendNone(dst, r)
	}
	return c
}

// Words completes a column of text; "" means no value.
func Words[R any](c Column[R], get func(R) string) Column[R] {
	c.Type = TypeText | TypeNull
	c.Value = func(r R) any { return NonEmpty(get(r)) }
	return c
}

// PerSecond completes a column of rates.
func PerSecond[R any](c Column[R], get func(R) (perS float64, known bool)) Column[R] {
	c.Type, c.Right, c.Desc = TypeNumber|TypeNull, true, true
	c.Value = func(r R) any { return Known(get(r)) }
	c.Text = func(r R) string {
		switch perS, known := get(r); {
		case !known:
			return ""
		case perS == 0:
			return "0"
		default:
			return Fixed(perS)
		}
	}
	return c
}

func appendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

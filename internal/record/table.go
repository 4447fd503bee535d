package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// errDamaged is the end of what can be read of a block.
var errDamaged = errors.New("the record is damaged")

// table is rows of one kind in a sample, coded as what differs from the sample before.
type table[R any] struct {
	name    string
	columns []column[R]
	// key is rising and says which rows of two samples are of the same thing; nil: none
	// are, and all rows are written each time.
	key func(*R) uint64
}

// encode adds the rows of a sample, as what differs from those before.
func (t *table[R]) encode(dst []byte, before, now []*R, x *texts) []byte {
	if t.key == nil {
		before = nil
	}
	removed, added, both := t.match(before, now)
	dst = appendGaps(dst, removed)
	dst = appendGaps(dst, added)
	var zero R
	for c := range t.columns {
		col := &t.columns[c]
		last := &zero
		for _, i := range added {
			dst = appendDelta(dst, col.get(last, x), col.get(now[i], x))
			last = now[i]
		}
	}
	var rows []int
	next := 0
	for c := range t.columns {
		col := &t.columns[c]
		rows = rows[:0]
		for k := range both {
			p := &both[k]
			p.was, p.is = col.get(before[p.before], x), col.get(now[p.now], x)
			if p.was != p.is {
				rows = append(rows, k)
			}
		}
		if len(rows) == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(1+c-next))
		next = c + 1
		dst = binary.AppendUvarint(dst, uint64(len(rows)))
		at := 0
		for _, k := range rows {
			dst = binary.AppendUvarint(dst, uint64(both[k].now-at))
			at = both[k].now + 1
		}
		for _, k := range rows {
			dst = appendDelta(dst, both[k].was, both[k].is)
		}
	}
	return append(dst, 0)
}

// most is the number of rows that a sample may have.
func (t *table[R]) most() int {
	var r R
	return mostRows / int(unsafe.Sizeof(r))
}

// pair is a row of two samples, and a column of it.
type pair struct {
	before, now int
	was, is     uint64
}

// match finds which rows went, which came, and which may have changed.
func (t *table[R]) match(before, now []*R) (removed, added []int, both []pair) {
	i := 0
	for j, n := range now {
		for i < len(before) && t.key(before[i]) < t.key(n) {
			removed = append(removed, i)
			i++
		}
		if i == len(before) || t.key(before[i]) != t.key(n) {
			added = append(added, j)
			continue
		}
		if before[i] != n {
			both = append(both, pair{before: i, now: j})
		}
		i++
	}
	for ; i < len(before); i++ {
		removed = append(removed, i)
	}
	return removed, added, both
}

func appendGaps(dst []byte, rows []int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(rows)))
	at := 0
	for _, i := range rows {
		dst = binary.AppendUvarint(dst, uint64(i-at))
		at = i + 1
	}
	return dst
}

// appendDelta writes small differences of either sign in few bytes.
func appendDelta(dst []byte, was, is uint64) []byte {
	d := int64(is - was)
	return binary.AppendUvarint(dst, uint64(d<<1)^uint64(d>>63))
}

// input is what is left of a chunk. After the first error all numbers are 0.
type input struct {
	b   []byte
	err error
}

func (in *input) fail() { in.b, in.err = nil, errDamaged }

func (in *input) uint() uint64 {
	v, n := binary.Uvarint(in.b)
	if n <= 0 {
		in.fail()
		return 0
	}
	in.b = in.b[n:]
	return v
}

// count is a number of things that take at least a byte each, so what is left bounds it.
func (in *input) count() int {
	n := in.uint()
	if n > uint64(len(in.b)) {
		in.fail()
		return 0
	}
	return int(n)
}

func (in *input) delta() uint64 {
	v := in.uint()
	return v>>1 ^ -(v & 1)
}

func (in *input) take(n int) []byte {
	if n > len(in.b) {
		in.fail()
		return nil
	}
	b := in.b[:n]
	in.b = in.b[n:]
	return b
}

// rows are rising numbers below limit.
func (in *input) rows(limit int) []int {
	n := in.count()
	if n > limit {
		in.fail()
		return nil
	}
	rows := make([]int, n)
	at := 0
	for i := range rows {
		gap := in.uint()
		if gap >= uint64(limit) || at+int(gap) >= limit {
			in.fail()
			return nil
		}
		rows[i] = at + int(gap)
		at = rows[i] + 1
	}
	return rows
}

// resolve finds the columns that a file names; nil for one that is not known here. missing
// are those that the file does not have.
func (t *table[R]) resolve(file []ColumnHeader) (known []*column[R], missing []*column[R]) {
	byID := map[string]*column[R]{}
	for i := range t.columns {
		byID[t.columns[i].id] = &t.columns[i]
	}
	for _, h := range file {
		c := byID[h.ID]
		if c != nil && c.kind != h.Type {
			c = nil
		} else {
			delete(byID, h.ID)
		}
		known = append(known, c)
	}
	for i := range t.columns {
		if c := &t.columns[i]; byID[c.id] != nil {
			missing = append(missing, c)
		}
	}
	return known, missing
}

// decode is the rows after those of the sample before, of which the unchanged ones are the
// same pointers.
func (t *table[R]) decode(in *input, before []*R, columns, missing []*column[R], x *texts) ([]*R, error) {
	if t.key == nil {
		before = nil
	}
	most := t.most()
	removed := in.rows(len(before))
	added := in.rows(most)
	n := len(before) - len(removed) + len(added)
	if in.err != nil || n > most || len(added) > 0 && added[len(added)-1] >= n {
		return nil, errDamaged
	}
	now := make([]*R, 0, n)
	fresh := make([]bool, n) // the row is of this sample alone
	rest := added
	for i, r := range before {
		if len(removed) > 0 && removed[0] == i {
			removed = removed[1:]
			continue
		}
		for len(rest) > 0 && rest[0] == len(now) {
			now, rest = append(now, nil), rest[1:]
		}
		now = append(now, r)
	}
	now = now[:n] // those added at the end
	for _, i := range added {
		now[i], fresh[i] = new(R), true
		for _, c := range missing {
			c.set(now[i], c.absent, x)
		}
	}
	for _, c := range columns {
		var v uint64
		for _, i := range added {
			if v += in.delta(); c != nil {
				c.set(now[i], v, x)
			}
		}
	}
	for at := 0; ; at++ {
		step := in.uint()
		if step == 0 {
			break
		}
		if step > uint64(len(columns)-at) {
			return nil, errDamaged
		}
		at += int(step) - 1
		c := columns[at]
		for _, i := range in.rows(n) {
			d := in.delta()
			if c == nil {
				continue
			}
			if !fresh[i] {
				own := *now[i]
				now[i], fresh[i] = &own, true
			}
			c.set(now[i], c.get(now[i], x)+d, x)
		}
	}
	if in.err != nil || x.wrong {
		return nil, errDamaged
	}
	if t.key != nil {
		for i := 1; i < n; i++ {
			if t.key(now[i-1]) >= t.key(now[i]) {
				return nil, fmt.Errorf("%w: rows of %s are not in order", errDamaged, t.name)
			}
		}
	}
	return now, nil
}

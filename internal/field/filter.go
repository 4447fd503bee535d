package field

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/sample"
)

// Filter says which rows are shown: those that every term of it matches. The
// nil Filter matches every row.
type Filter struct {
	text  string
	terms []term
}

// term is one word, or one comparison "column op value".
type term struct {
	typed string
	word  string // in lower case, "" for a comparison

	column  *TaskColumn
	op      string // = != < > <= >= ~
	numbers []float64
	texts   []string // in lower case
	uids    []uint32 // those of the texts that are numbers of users
	pattern *regexp.Regexp
	cpus    cpuset.Set // of a term that names CPUs; else empty
}

// String is the filter as it was typed.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return f.text
}

// Match reports whether every term matches the row.
func (f *Filter) Match(r Row) bool {
	if f == nil {
		return true
	}
	for i := range f.terms {
		if !f.terms[i].match(r) {
			return false
		}
	}
	return true
}

// Select adds the rows of m that match to dst.
func (f *Filter) Select(dst []int32, m *model.Model) []int32 {
	for i := range m.Tasks {
		if f.Match(Row{M: m, I: i}) {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// WhyNone says which part of the filter matches no task of the model, or no task that
// the parts before it match; "" when a task matches all of it.
func (f *Filter) WhyNone(m *model.Model) string {
	if f == nil {
		return ""
	}
	for i := range f.terms {
		if why := f.terms[i].whyNone(m); why != "" {
			return why
		}
	}
	left := Filter{}
	for i := range f.terms {
		before := left.terms
		if left.terms = f.terms[:i+1]; len(left.Select(nil, m)) == 0 {
			typed := make([]string, len(before))
			for n := range before {
				typed[n] = before[n].typed
			}
			return fmt.Sprintf("no task matches %s and %s", Clean(strings.Join(typed, " ")), Clean(f.terms[i].typed))
		}
	}
	return ""
}

// whyNone says that the term alone matches no task.
func (t *term) whyNone(m *model.Model) string {
	known := t.column == nil
	for i := range m.Tasks {
		r := Row{M: m, I: i}
		if t.match(r) {
			return ""
		}
		known = known || t.column.Value(r) != nil
	}
	if !known {
		return fmt.Sprintf("no task matches %s: %s is not known of any task", Clean(t.typed), t.column.Title)
	}
	return "no task matches " + Clean(t.typed)
}

func (f *Filter) needs(n *sample.Needs) {
	if f == nil {
		return
	}
	for _, t := range f.terms {
		if t.word != "" || t.column.ID == "command" {
			n.Identity = true
			continue
		}
		t.column.NeedsOfAll(n) // a row that is not shown must be judged too
	}
}

func (t *term) match(r Row) bool {
	if t.word != "" {
		return matchWord(r, t.word)
	}
	if !t.cpus.Empty() {
		return t.matchCPUs(r)
	}
	if t.column.num != nil {
		return t.matchNumber(t.column.num(r))
	}
	return t.matchText(t.column.text(r), slices.Contains(t.uids, r.identity().UID))
}

// matchWord looks for the word in the names, the command line, the owner and
// the number of a task.
func matchWord(r Row, word string) bool {
	id := r.identity()
	if containsFold(id.Comm, word) || containsFold(id.Cmdline, word) || containsFold(id.User, word) {
		return true
	}
	var buf [20]byte
	return strings.Contains(string(appendInt(buf[:0], int64(r.Task().TID))), word)
}

// matchNumber compares as the screen shows: = holds when the figure is the
// number to the precision shown. A missing figure matches nothing, != included.
func (t *term) matchNumber(v float64) bool {
	if v != v {
		return false
	}
	switch t.op {
	case "<":
		return v < t.numbers[0]
	case ">":
		return v > t.numbers[0]
	case "<=":
		return v <= t.numbers[0]
	case ">=":
		return v >= t.numbers[0]
	}
	any := false
	for _, n := range t.numbers {
		any = any || (v > n-0.05 && v < n+0.05)
	}
	return any == (t.op == "=")
}

// matchText compares; any is whether the row is of one of the uids.
func (t *term) matchText(s string, any bool) bool {
	if s == "" {
		return false
	}
	if t.op == "~" {
		return t.pattern.MatchString(s)
	}
	for _, text := range t.texts {
		any = any || strings.EqualFold(s, text)
	}
	return any == (t.op == "=")
}

// containsFold reports whether s contains the lower-case word, whatever the
// case of s. It does not allocate for ASCII.
func containsFold(s, word string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.Contains(strings.ToLower(s), word)
		}
	}
	for i := 0; i+len(word) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

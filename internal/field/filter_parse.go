package field

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/pattern"
	"piton/internal/users"
)

// FilterHelp explains the filter language in a few lines.
const FilterHelp = `words            tasks whose name, command line, owner or number has every word, any case
column op value  op is = != < > <= >= or ~ (regular expression); ":" is "="
                 cpu>50  mig>10  user:root  nice<0  state=R,D  policy=fifo  rss>100M  comm~^nq
                 cpu is CPU%; on=3 or core=3 is the CPU a task is on, on=0-3,8 one of these,
                 and allowed~0-3,8 those that may run on one of them
"..."            quotes keep blanks and operators: "a=b"  command~"-n 16"`

// errEmptyFilter is the error for a filter without any term.
var errEmptyFilter = errors.New("the filter is empty")

// ParseFilter reads a filter; FilterHelp has its language. A filter that cannot
// be understood is an error, never one that matches everything.
func ParseFilter(text string) (*Filter, error) {
	f := &Filter{text: strings.TrimSpace(text)}
	var budget pattern.Budget
	for s := f.text; s != ""; {
		t, rest, err := parseTerm(s, &budget)
		if err != nil {
			return nil, err
		}
		t.typed = strings.TrimSpace(s[:len(s)-len(rest)])
		f.terms = append(f.terms, t)
		s = strings.TrimLeft(rest, " \t")
	}
	if len(f.terms) == 0 {
		return nil, errEmptyFilter
	}
	return f, nil
}

// parseTerm reads the first term of s, which does not begin with a blank.
func parseTerm(s string, budget *pattern.Budget) (t term, rest string, err error) {
	name := s[:nameLen(s)]
	op, after := cutOperator(strings.TrimLeft(s[len(name):], " \t"))
	switch {
	case op == "":
		word, rest, err := parseValue(s)
		return term{word: strings.ToLower(word)}, rest, err
	case name == "":
		return term{}, "", fmt.Errorf("a column is missing before %q", op)
	}
	value, rest, err := parseValue(strings.TrimLeft(after, " \t"))
	if err != nil {
		return term{}, "", fmt.Errorf("%s%s: %w", name, op, err)
	}
	t, err = newComparison(name, op, value, budget)
	return t, rest, err
}

// nameLen is the length of the column name that s may begin with.
func nameLen(s string) int {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '%' || c == '/' || c == '+'):
		default:
			return i
		}
	}
	return len(s)
}

// cutOperator splits a leading operator from s.
func cutOperator(s string) (op, rest string) {
	for _, op := range []string{"!=", "<=", ">=", "==", "=", "<", ">", "~", ":"} {
		if rest, ok := strings.CutPrefix(s, op); ok {
			if op == ":" || op == "==" {
				op = "="
			}
			return op, rest
		}
	}
	return "", s
}

// parseValue reads a word or a quoted text from the front of s.
func parseValue(s string) (value, rest string, err error) {
	if quoted, ok := strings.CutPrefix(s, `"`); ok {
		value, rest, ok = strings.Cut(quoted, `"`)
		if !ok {
			return "", "", errors.New("a quote is not closed")
		}
	} else {
		end := strings.IndexAny(s, " \t")
		if end < 0 {
			end = len(s)
		}
		value, rest = s[:end], s[end:]
	}
	if value == "" {
		return "", "", errors.New("a value is missing")
	}
	return value, rest, nil
}

func newComparison(name, op, value string, budget *pattern.Budget) (term, error) {
	column, ok := lookupFigure(name)
	if !ok {
		return term{}, fmt.Errorf("there is no column %q to filter on (quote the word to search for it)", name)
	}
	t := term{column: column, op: op}
	if t.setCPUs(value) {
		return t, nil
	}
	var err error
	if column.num != nil {
		err = t.setNumbers(value)
	} else {
		err = t.setTexts(value, budget)
	}
	if err != nil {
		err = fmt.Errorf("%s%s%s: %w", name, op, Clean(value), err)
		if cpus, bad := cpuset.Parse(value); strings.EqualFold(name, "cpu") && bad == nil && !cpus.Empty() {
			err = fmt.Errorf("%w (cpu is CPU%%; the CPU a task is on is on=%s)", err, value)
		}
		return term{}, err
	}
	return t, nil
}

// lookupFigure is Lookup for what a filter compares: there "cpu" is how busy a task
// is, not the number of the CPU that it is on.
func lookupFigure(name string) (*TaskColumn, bool) {
	if strings.EqualFold(name, "cpu") {
		name = "cpu_percent"
	}
	return Lookup(name)
}

func (t *term) setNumbers(value string) error {
	if t.op == "~" {
		return fmt.Errorf("%s is a number, and ~ is for text", t.column.ID)
	}
	for part := range strings.SplitSeq(value, ",") {
		n, err := t.column.unit.parse(part)
		if err != nil {
			return err
		}
		t.numbers = append(t.numbers, n)
	}
	if len(t.numbers) > 1 && t.op != "=" && t.op != "!=" {
		return fmt.Errorf("%s takes one number", t.op)
	}
	return nil
}

func (t *term) setTexts(value string, budget *pattern.Budget) (err error) {
	switch t.op {
	case "~":
		if t.pattern, err = budget.Compile("(?i)" + value); err != nil {
			return fmt.Errorf("not a regular expression: %w", err)
		}
	case "=", "!=":
		if t.column.ID == "affinity" { // its value holds commas
			cpus, err := cpuset.Parse(value)
			t.texts = []string{cpus.String()}
			return err
		}
		t.texts = strings.Split(value, ",")
		if slices.Contains(t.texts, "") {
			return errors.New("a value is missing beside the comma")
		}
		if t.column.ID == "user" {
			return t.setUsers()
		}
	default:
		return fmt.Errorf("%s is text, and %s is for numbers", t.column.ID, t.op)
	}
	return nil
}

// setUsers finds the numbers among the users of a term.
func (t *term) setUsers() error {
	for _, word := range t.texts {
		uid, number, err := users.Parse(word)
		if err != nil {
			return err
		}
		if number {
			t.uids = append(t.uids, uid)
		}
	}
	return nil
}

// parse reads a number with the unit's suffix.
func (u unit) parse(s string) (float64, error) {
	number, factor := s, 1.0
	switch {
	case u == percent:
		number = strings.TrimSuffix(s, "%")
	case u == sizes && s != "":
		if i := strings.IndexByte("KMGT", s[len(s)-1]&^0x20); i >= 0 {
			number, factor = s[:len(s)-1], float64(uint64(1)<<(10*(i+1)))
		}
	case u == seconds && s != "":
		switch s[len(s)-1] {
		case 's':
			number = s[:len(s)-1]
		case 'm':
			number, factor = s[:len(s)-1], time.Minute.Seconds()
		case 'h':
			number, factor = s[:len(s)-1], time.Hour.Seconds()
		case 'd':
			number, factor = s[:len(s)-1], 24*time.Hour.Seconds()
		}
	}
	// ParseFloat would take "nan", "inf", "0x1p3" and "1_000" as well.
	if number == "" || strings.Trim(number, "0123456789.-") != "" {
		return 0, fmt.Errorf("%q is not a number", Clean(s))
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", Clean(s))
	}
	return n * factor, nil
}

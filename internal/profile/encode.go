package profile

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"piton/internal/pattern"
	"piton/internal/taskfile"
)

const header = `# piton apply FILE --check   shows what it would change; without --check it changes it
# piton verify FILE          exits 5 when something is not as written here
# Items find tasks, interrupts and queues by name, command line, cgroup and device, never by
# number. Later items win. An item that finds nothing is an error, unless it is optional = true.
`

// sections are what stands above the first item of each kind.
var sections = map[string]string{
	"isolation": "# CPUs that nothing is to run on but what an item below sends there",
	"machine":   "# interrupts that come up later, and work that is bound to no CPU",
	"task":      "# tasks of users: name, thread, command (a regular expression) and cgroup say which;\n# cpus, cpus_each (one after the other), nice, policy, ioprio, slice and uclamp say what they get,\n# weight and quota what their control groups get",
	"kthread":   "# kernel threads",
	"irq":       "# interrupt lines, by handler (action) and device",
	"queue":     "# steering of received (rps, rps_flows) and sent (xps) packets, by queue",
	"sysctl":    "# kernel settings; a - before the name: no error where the kernel has no such setting",
}

// encoder writes TOML that people read and edit.
type encoder struct {
	b     strings.Builder
	began map[string]bool
}

// Encode writes a profile, the same profile always in the same way.
func Encode(p *Profile) []byte {
	e := &encoder{began: map[string]bool{}}
	e.b.WriteString(header)
	for _, n := range p.Notes {
		fmt.Fprintf(&e.b, "# not saved: %s\n", comment(n))
	}
	fmt.Fprintf(&e.b, "\nversion = %d\n", Version)
	if p.Isolation.CPUs != "" {
		e.table("[isolation]", p.Isolation)
	}
	if p.Machine.DefaultIRQAffinity != "" || p.Machine.WorkqueueCPUs != "" {
		e.table("[machine]", p.Machine)
	}
	for _, t := range p.Tasks {
		e.table("[[task]]", t)
	}
	for _, t := range p.Kthreads {
		e.table("[[kthread]]", t)
	}
	for _, q := range p.IRQs {
		e.table("[[irq]]", q)
	}
	for _, q := range p.Queues {
		e.table("[[queue]]", q)
	}
	if len(p.sysctls) > 0 {
		e.table("[sysctl]", struct{}{})
	}
	values := map[string]string{} // files of tuna may name a setting twice: the last one counts
	for _, s := range p.sysctls {
		name := strings.ToValidUTF8(s.Name, string(utf8.RuneError)) // as quote has it
		if s.Optional {
			name = "-" + name
		}
		values[name] = s.Value
	}
	byName := func(a, b string) int {
		return cmp.Or(strings.Compare(strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-")), strings.Compare(a, b))
	}
	for _, name := range slices.SortedFunc(maps.Keys(values), byName) {
		fmt.Fprintf(&e.b, "%s = %s\n", quote(name), number(values[name]))
	}
	return []byte(e.b.String())
}

// table writes a heading and the settings below it that a struct has, by its tags and in
// its order.
func (e *encoder) table(heading string, of any) {
	e.b.WriteByte('\n')
	if name := strings.Trim(heading, "[]"); !e.began[name] {
		e.began[name] = true
		e.b.WriteString(sections[name] + "\n")
	}
	e.b.WriteString(heading + "\n")
	table := reflect.ValueOf(of)
	for i := range table.NumField() {
		key, field := table.Type().Field(i).Tag.Get("toml"), table.Field(i)
		if key == "" || field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 {
			continue
		}
		fmt.Fprintf(&e.b, "%s = %s\n", key, written(reflect.Indirect(field).Interface()))
	}
}

// written is a value as TOML has it.
func written(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case taskfile.Text:
		return number(string(v))
	case []string:
		all := make([]string, len(v))
		for i, s := range v {
			all[i] = quote(s)
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return fmt.Sprint(value) // a number, or true
}

// quote writes a text as TOML does: between ' as it is where that is easier to
// read, else with escapes. Bytes that are no UTF-8 are replaced first, so that what
// is read back is written the same way.
func quote(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	plain := !strings.ContainsFunc(s, hidden)
	if plain && strings.ContainsAny(s, `\"`) && !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var whole = pattern.Lazy(`^(0|-?[1-9][0-9]{0,17})$`)

// number writes a whole number bare, and anything else as a text.
func number(s string) string {
	if whole().MatchString(s) {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	}
	return quote(s)
}

// hidden reports whether a reader of the file would not see a character.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

// comment keeps a text on its line, and shows all of it.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}

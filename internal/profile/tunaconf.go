package profile

import (
	"fmt"
	"slices"
	"strings"
)

// isTunaConf reports whether the first line that says something heads one of the
// sections of the sysctl profiles of tuna (/etc/tuna/*.conf) and tuned. A profile of
// piton cannot begin so: its version comes before every table.
func isTunaConf(data []byte) bool {
	for _, line := range meaningful(data, "#;") {
		return slices.Contains([]string{"[categories]", "[sysctl]", "[fileDescription]", "[guiAlias]", "[main]"}, line)
	}
	return false
}

// tunaMeta are sections that set nothing.
var tunaMeta = []string{"categories", "guiAlias", "fileDescription", "global", "main"}

// parseTunaConf reads tuna's sysctl profiles: sections of "a.b.c = value", of
// which those are in force that [categories] names, or [sysctl] alone in tuned's.
// "least,most,value" are a slider's ends and its value.
func parseTunaConf(data []byte) (*Profile, error) {
	p := &Profile{Version: Version, Origin: "a sysctl profile of tuna or tuned"}
	var enabled []string
	section, left := "", map[string]bool{}
	for number, line := range meaningful(data, "#;") {
		if name, ok := strings.CutPrefix(line, "["); ok {
			if section, ok = strings.CutSuffix(name, "]"); !ok {
				return nil, &Error{Line: number, Text: "the heading of a section ends with ]"}
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case section == "" || !ok:
			return nil, &Error{Line: number, Text: "this is neither [section] nor name = value"}
		case section == "categories" && value != "":
			enabled = append(enabled, key)
		case section == "sysctl" && enabled == nil, slices.Contains(enabled, section):
			if err := p.tunaSetting(number, key, value); err != nil {
				return nil, err
			}
		case section == "main" && key == "include":
			p.Notes = append(p.Notes, fmt.Sprintf("include = %s is not followed: the settings of that profile are not applied", value))
		case !slices.Contains(tunaMeta, section):
			left[section] = true
		}
	}
	for name := range left {
		p.Notes = append(p.Notes, fmt.Sprintf("section [%s] is not read: it is not enabled, or not about kernel settings", name))
	}
	slices.Sort(p.Notes)
	return p, nil
}

// tunaSetting takes one setting; one without a value is only shown by tuna, not
// set. tuna writes a dot inside a name as \. and sets all that fit a glob.
func (p *Profile) tunaSetting(number int, key, value string) error {
	if parts := strings.Split(value, ","); len(parts) == 3 {
		value = strings.TrimSpace(parts[2])
	}
	if value == "" {
		return nil
	}
	key = strings.ReplaceAll(key, `\.`, "/")
	s, err := newSysctl(key, value)
	if err != nil {
		return &Error{Line: number, Text: err.Error()}
	}
	s.line, s.Optional = number, true // tuna goes on without those that are not there
	p.sysctls = append(p.sysctls, s)
	return nil
}

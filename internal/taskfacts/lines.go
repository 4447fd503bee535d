package taskfacts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FileLines lists every open file as text, sockets with their addresses.
func (f *Facts) FileLines() []string {
	if f.Files.Why != "" {
		return []string{"Open files: " + f.Files.Why}
	}
	sockets := map[int]Socket{}
	for _, s := range f.Sockets.Value {
		sockets[s.FD] = s
	}
	lines := []string{fmt.Sprintf("%4s  %s", "FD", "FILE")}
	for _, file := range f.Files.Value {
		text := file.Path
		if s, ok := sockets[file.FD]; ok {
			text = s.String()
			if s.IncomingCPU >= 0 {
				text += fmt.Sprintf(", last packet in on cpu %d", s.IncomingCPU)
			}
		}
		lines = append(lines, fmt.Sprintf("%4d  %s", file.FD, strings.TrimSpace(text)))
	}
	if f.NoCPU != "" && len(f.Sockets.Value) > 0 {
		lines = append(lines, "", "Incoming CPU of sockets not known: "+f.NoCPU)
	}
	return lines
}

// SocketsByUse puts the sockets of networks first: those of this machine alone say little.
func (f *Facts) SocketsByUse() []Socket {
	out := slices.Clone(f.Sockets.Value)
	slices.SortStableFunc(out, func(a, b Socket) int {
		unix := func(s Socket) int { return map[bool]int{true: 1}[s.Kind == "unix"] }
		return cmp.Compare(unix(a), unix(b))
	})
	return out
}

// SocketsLine counts the sockets, and says why their CPUs are not known.
func (f *Facts) SocketsLine() string {
	n := len(f.Sockets.Value)
	if n == 0 {
		return "none"
	}
	if f.NoCPU != "" {
		return fmt.Sprintf("%d; incoming CPU not known: %s", n, f.NoCPU)
	}
	return fmt.Sprint(n)
}

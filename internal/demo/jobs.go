package demo

import (
	"fmt"
	"math"
	"strings"
)

// hostile are tasks whose names try to break the screen.
func (m *Machine) hostile() {
	names := [][2]string{
		{"evil\x1b[31m) (x", "evil \x1b]0;owned\a\x1b[2J\x1b[H --name=\"a\nb\tc\" \u009b31m"},
		{"数据库引擎", "数据库引擎 --端口=5432 --表=用户 🐘🐘"},
		{"", ""},
		{"   ", "   "},
		{"verylongname-wo", "/opt/vendor/verylongname-worker" + strings.Repeat(" --option-with-a-long-name=/srv/data/0123456789", 90)},
		{"\u202egnp.exe", "\u202egnp.exe \u2066hidden\u2069"},
		{"z\u0337a\u0335l\u0334g", "z\u0337\u0322a\u0335\u0321lgo"},
		{"\xff\xfe\x80bin", "\xff\xfe\x80bin \xc3\x28"},
	}
	for i, name := range names {
		m.add(m.user("nobody", "/", name[0], name[1], 0.004*float64(i%3), 0.2, 0, 0.3))
	}
}

// job is a place in a build: one compiler after the other.
type job struct {
	slot  int
	now   *task
	until float64 // seconds
}

// build begins another compiler.
func (m *Machine) build(slot int) *task {
	t := m.user("build", "/user.slice/user-1002.slice/session-7.scope", "cc1plus",
		fmt.Sprintf("/usr/lib/gcc/x86_64-linux-gnu/14/cc1plus -quiet -O2 part%d/unit%03d.cc", slot, m.rng.IntN(400)), 0.94, 0.06, 0, 1)
	t.Nice, t.RSSPages = 10, 40_000+int64(m.rng.IntN(60_000))
	return m.add(t)
}

// wave rises and falls between 0 and 1.
func wave(seconds, period, phase float64) float64 {
	return 0.5 + 0.5*math.Sin(2*math.Pi*seconds/period+phase)
}

package tui

import (
	"os/exec"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
	"piton/internal/tui/dialog"
	"piton/internal/tune"
)

// sudoDone says that a command run through sudo has ended.
type sudoDone struct {
	what string
	rest []*exec.Cmd
	err  error
}

// offerSudo says what is missing and offers to do this one change through sudo.
func (m *Model) offerSudo(p planned, why string) tea.Cmd {
	commands := m.sudoCommands(p)
	if len(commands) == 0 || m.deps.Sudo == "" {
		return m.say(bad, p.what+": "+why)
	}
	lines := []dialog.Line{{Tone: dialog.Refusal, Text: why}, {Tone: dialog.Plain, Text: "Do it through sudo? It may ask for your password, then piton goes on."}}
	for _, c := range commands {
		lines = append(lines, dialog.Line{Tone: dialog.Quiet, Text: field.Clean(strings.Join(c.Args, " "))})
	}
	return m.dialogs.PushUnasked(dialog.NewConfirm("Not permitted", lines, "use sudo", "cancel"), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return m.say(bad, p.what+": "+why)
		}
		return m.runSudo(p.what, commands)
	})
}

// runSudo gives the terminal to the first command; the others follow.
func (m *Model) runSudo(what string, commands []*exec.Cmd) tea.Cmd {
	return m.deps.Exec(commands[0], func(err error) tea.Msg { return sudoDone{what, commands[1:], err} })
}

func (m *Model) takeSudo(d sudoDone) tea.Cmd {
	m.deps.Sampler.Refresh()
	switch {
	case d.err != nil:
		return m.say(bad, d.what+" through sudo failed: "+d.err.Error())
	case len(d.rest) > 0:
		return m.runSudo(d.what, d.rest)
	}
	return tea.Batch(m.say(good, d.what+": done through sudo"), m.journalChanged())
}

// sudoCommands writes a plan as command lines of piton: what its job says, or one
// for each attribute of each request.
func (m *Model) sudoCommands(p planned) []*exec.Cmd {
	if p.prepare != nil {
		if len(p.command) == 0 {
			return nil
		}
		return []*exec.Cmd{exec.Command(m.deps.Sudo, append([]string{m.deps.Self}, p.command...)...)}
	}
	var out []*exec.Cmd
	add := func(a verbArgs, targets []tune.Target) {
		for scope, ids := range byScope(targets) {
			argv := append([]string{m.deps.Self, a.verb, scope}, a.flags...)
			argv = append(argv, "--")
			argv = append(append(argv, ids...), a.values...)
			out = append(out, exec.Command(m.deps.Sudo, argv...))
		}
	}
	for _, r := range p.plan.Requests {
		for _, args := range settingArgs(r.Settings) {
			add(args, r.Targets)
		}
	}
	if n := p.want.Autogroup; n != nil {
		add(verbArgs{"nice", []string{"--autogroup"}, []string{strconv.Itoa(*n)}}, p.targets)
	}
	return out
}

// verbArgs is a setting as the command line writes it.
type verbArgs struct {
	verb          string
	flags, values []string // before and after the targets
}

func settingArgs(s tune.Settings) []verbArgs {
	var out []verbArgs
	if s.Affinity != nil {
		flags := []string{"--cpu", s.Affinity.String()}
		if s.MemoryFollows {
			flags = append(flags, "--mem")
		}
		out = append(out, verbArgs{"pin", flags, nil})
	}
	if s.Nice != nil {
		out = append(out, verbArgs{"nice", nil, []string{strconv.Itoa(*s.Nice)}})
	}
	if s.Slice != nil {
		out = append(out, verbArgs{"slice", nil, []string{s.Slice.String()}})
	}
	if s.Policy != nil {
		out = append(out, verbArgs{"policy", nil, []string{strings.ToLower(s.Policy.String())}})
	}
	if s.IOPrio != nil {
		out = append(out, verbArgs{"ionice", nil, []string{tune.FormatIOPrio(*s.IOPrio)}})
	}
	return out
}

// byScope sorts targets by the flag that says what they mean.
func byScope(targets []tune.Target) map[string][]string {
	out := map[string][]string{}
	for _, t := range targets {
		flag := map[tune.Scope]string{tune.ScopeProcess: "--process", tune.ScopeThread: "--thread", tune.ScopeTree: "--tree"}[t.Scope]
		out[flag] = append(out[flag], strconv.Itoa(int(t.TID)))
	}
	return out
}

package screen

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ready tells when it has started; it never ends by itself.
type ready struct{ begun chan struct{} }

func (m ready) Init() tea.Cmd                       { close(m.begun); return nil }
func (m ready) Update(tea.Msg) (tea.Model, tea.Cmd) { return m, nil }
func (m ready) View() tea.View                      { return tea.NewView("") }

// The terminal is closed, and no SIGHUP comes, as to a program whose session is another.
func TestTerminalCloses(t *testing.T) {
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer slave.Close()
	m, ended := ready{make(chan struct{})}, make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), m, Options{Input: slave, Output: slave, Env: []string{"TERM=xterm"}})
		ended <- err
	}()
	<-m.begun
	require.NoError(t, master.Close())
	assert.Equal(t, Signalled{syscall.SIGHUP}, <-ended)
}

func TestSizeOfATerminal(t *testing.T) {
	for _, test := range []struct {
		says          pty.Winsize
		env           []string
		width, height int
	}{
		{pty.Winsize{Rows: 50, Cols: 120}, []string{"LINES=1", "COLUMNS=1"}, 120, 50},
		{pty.Winsize{}, nil, 80, 24},
		{pty.Winsize{}, []string{"LINES=30", "COLUMNS=x"}, 80, 30},
		{pty.Winsize{Rows: 3000, Cols: 3000}, nil, mostColumns, mostRows},
	} {
		master, slave, err := pty.Open()
		require.NoError(t, err)
		require.NoError(t, pty.Setsize(slave, &test.says))
		tt, err := newTerminal(Options{Input: slave, Output: slave, Env: test.env})
		require.NoError(t, err)
		assert.Equal(t, []int{test.width, test.height}, []int{tt.width, tt.height}, "%+v", test)
		_, _ = master.Close(), slave.Close()
	}
}

// session is what terminals send while keys that change nothing are pressed, the mouse is
// used and questions are answered. Of its letters in sequences many are keys that change
// something: [ and ], digits, k, M, R, z.
const session = "\x1b[?62;22c\x1b]11;rgb:2020/2020/2020\x1b\\j\x1b[B\x1b[<64;10;10M\x1b[<35;70;20M\x1b[<0;5;7m\x1bOB\x1b[19~" +
	"\x1b[1;5C\x1b[[C\x1b[6~ä\x1b[200~zk[]\x1b[201~\x1b[?2026;2$y\x1b[I\x1b[<32;-1;5M\x1b[3;1R\x1bj"

// TestCutSessionsHaveNoOtherKeys cuts a session at each byte, with a pause there: whatever the
// pause, no key comes that was not pressed. What was pressed may be lost, or be Escape.
func TestCutSessionsHaveNoOtherKeys(t *testing.T) {
	whole := map[string]bool{"esc": true}
	for _, name := range names(at(session)) {
		whole[name] = true
	}
	require.NotContains(t, whole, "[")
	for cut := range session {
		for pause := time.Duration(0); pause <= 500*time.Millisecond; pause += 10 * time.Millisecond {
			for _, name := range names(at(session[:cut]), typedAt{pause, session[cut:]}) {
				require.True(t, whole[name], "%q after a pause of %s at %q | %q", name, pause, session[:cut], session[cut:])
			}
		}
	}
}

func FuzzCut(f *testing.F) {
	for _, seed := range []string{session, "\x1b[" + strings.Repeat("1;", 16) + "1A", "\x1b]11;" + strings.Repeat("a", 5000),
		"\x1b[200~" + session, "\x1b[M   \x9bA\xe4\xb8\xad", "\x1bP1;2|a\x1b\\"} {
		f.Add([]byte(seed), uint16(3), uint16(60))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut, pause uint16) {
		var c cutter
		now := time.Unix(1000, 0)
		at := int(cut) % (len(b) + 1)
		events := c.feed(b[:at], now)
		now = now.Add(time.Duration(pause) * time.Millisecond)
		events = append(events, c.expire(now)...)
		events = append(events, c.feed(b[at:], now)...)
		assert.LessOrEqual(t, len(events), 2*len(b)+1)
		assert.LessOrEqual(t, len(c.seq), longest)
		assert.LessOrEqual(t, len(c.pasted), longestPaste)
		for _, e := range events {
			switch e := e.(type) {
			case uv.MouseEvent:
				assert.True(t, e.Mouse().X >= 0 && e.Mouse().Y >= 0, "%v", e)
			case uv.KeyPressEvent:
				assert.LessOrEqual(t, len(e.Text), longestKey)
			case tea.PasteMsg, uv.BackgroundColorEvent, uv.ModeReportEvent, uv.PrimaryDeviceAttributesEvent:
			default:
				t.Errorf("of no use: %s", fmt.Sprintf("%T", e))
			}
		}
		for at, ok := c.deadline(); ok; at, ok = c.deadline() { // it does not stay in a sequence
			c.expire(at)
		}
	})
}

package report

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium that is spoken to in the DevTools protocol over
// two pipes, messages ended by NUL (--remote-debugging-pipe).
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	next    int
	// events are the messages that answered nothing.
	events []event
}

type event struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// newBrowser starts one with an empty page, or skips the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped with -short: starts a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no chromium here to open the page with")
	}
	toRead, toWrite, err := os.Pipe()
	require.NoError(t, err)
	fromRead, fromWrite, err := os.Pipe()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // its 3 and 4
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	_ = toRead.Close()
	_ = fromWrite.Close()
	t.Cleanup(func() {
		_ = toWrite.Close() // it ends with its pipe
		_ = cmd.Wait()
		cancel()
		_ = fromRead.Close()
	})
	b := &browser{t: t, to: toWrite, from: bufio.NewReader(fromRead)}
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends a command and reads until its answer.
func (b *browser) call(method string, params, into any) {
	b.t.Helper()
	b.next++
	message := map[string]any{"id": b.next, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(text, 0))
	require.NoError(b.t, err)
	for {
		answer := b.read()
		if answer.ID != b.next {
			continue
		}
		require.Nil(b.t, answer.Error, method)
		if into != nil {
			require.NoError(b.t, json.Unmarshal(answer.Result, into), method)
		}
		return
	}
}

type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  any             `json:"error"`
	event
}

func (b *browser) read() answer {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	require.NoError(b.t, err, "the browser ended")
	var a answer
	require.NoError(b.t, json.Unmarshal(text[:len(text)-1], &a))
	if a.Method != "" {
		b.events = append(b.events, a.event)
	}
	return a
}

// open loads a file and waits until it has loaded.
func (b *browser) open(path string) {
	b.t.Helper()
	b.events = nil
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for {
		for _, e := range b.events {
			if e.Method == "Page.loadEventFired" {
				return
			}
		}
		b.read()
	}
}

// complaints are what the browser said about the page, and what it asked the
// network for beside the page itself.
func (b *browser) complaints() []string {
	var out []string
	requests := 0
	for _, e := range b.events {
		switch e.Method {
		case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
			out = append(out, fmt.Sprintf("%s %s", e.Method, e.Params))
		case "Network.requestWillBeSent":
			if requests++; requests > 1 {
				out = append(out, fmt.Sprintf("%s %s", e.Method, e.Params))
			}
		}
	}
	return out
}

// evaluate runs an expression in the page.
func (b *browser) evaluate(expression string, into any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails any
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	require.Nil(b.t, answer.ExceptionDetails, expression)
	require.NoError(b.t, json.Unmarshal(answer.Result.Value, into))
}

// media shows the page as on paper ("print") or on a screen, light or dark.
func (b *browser) media(kind, scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": kind,
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// screenshot writes the whole page to a file where PITON_SCREENSHOTS names a
// directory, to be looked at.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("PITON_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	content, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), content, 0o600))
}

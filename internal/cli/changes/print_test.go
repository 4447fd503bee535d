package changes

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cpuset"
)

func TestChangeJSON(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{IO: app.IO{Out: &out}}
	WriteJSON(a, []change.Change{{
		Object: attr.Object{PID: 10, TID: 11, Comm: "a\x1b"}, Attribute: attr.Affinity, Before: cpuset.Of(0, 1), After: cpuset.Of(1),
		Status: attr.Failed, Err: syscall.EPERM, Reason: "why",
	}})
	assert.Equal(t, `{"type":"change","v":1,"pid":10,"tid":11,"comm":"a\u001b","object":null,"path":null,"attribute":"affinity","before":"0-1","after":"1",`+
		`"status":"failed","error":"operation not permitted","reason":"why"}`+"\n", out.String())

	out.Reset()
	WriteJSON(a, []change.Change{{Attribute: attr.IRQAffinity, Object: attr.Object{Path: "/proc/irq/24/x", Name: "irq 24"}}})
	assert.Equal(t, `{"type":"change","v":1,"pid":null,"tid":null,"comm":null,"object":"irq 24","path":"/proc/irq/24/x","attribute":"irq-affinity","before":"","after":"",`+
		`"status":"","error":"","reason":""}`+"\n", out.String())
}

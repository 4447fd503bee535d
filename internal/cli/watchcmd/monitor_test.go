package watchcmd

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/model"
	"piton/internal/sample"
)

// headless is what piton makes of flags.
func headless(t *testing.T, args string) (*Monitor, view) {
	t.Helper()
	o := NewMonitor()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	require.NoError(t, fs.Parse(strings.Fields(args)))
	_, v, err := o.printer(&app.App{})
	require.NoError(t, err, args)
	return &o, v
}

func TestHeadlessLoadsForMany(t *testing.T) {
	for args, want := range map[string]sample.EBPF{
		"-n1 --columns pid,comm":         sample.EBPFMany,
		"-n1 --columns pid,comm --pid 1": sample.EBPFNever,
		"-n2":                            sample.EBPFMany,
		"-n2 --columns pid,pingpong":     sample.EBPFNow,
		"-n3 --pid 1":                    sample.EBPFNow,
		"":                               sample.EBPFNow,
	} {
		o, v := headless(t, args)
		assert.Equal(t, want, o.ebpf(&v, v.needs(o.Threads)), args)
	}
}

// What is not known of the machine is no 0 (as in a /proc with subset=pid).
func TestUnknownFiguresOfTheHost(t *testing.T) {
	m := model.Next(nil, &sample.Sample{Wall: time.Date(2026, 11, 20, 9, 14, 2, 0, time.UTC)}, nil)
	assert.Equal(t, "09:14:02 - up -  tasks 0 (0 threads, 0 running)  load - - -  mem -/-  migrations -\n", summary(m))
	var line map[string]any
	require.NoError(t, json.Unmarshal(hostList.Append(nil, sampled{Model: m}), &line))
	for _, id := range []string{"host", "uptime_s", "load1", "load5", "load15", "mem_total_bytes", "mem_used_bytes", "swap_total_bytes", "swap_used_bytes"} {
		v, there := line[id]
		assert.True(t, there, id)
		assert.Nil(t, v, id)
	}
}

func TestHeadlessAtOnce(t *testing.T) {
	for args, atOnce := range map[string]bool{
		"-n1 --columns pid,policy,affinity,mem,rss_bytes,voluntary_switches,migrations,command": true,
		"-n1 --columns pid,comm --sort rss_bytes --filter nice<1":                               true,
		"-n1 --columns pid,comm -o csv":                                                         true,
		"-n1":                                                                                   false,
		"-n2 --columns pid,comm":                                                                false,
		"--columns pid,comm":                                                                    false,
		"-n1 --columns pid,comm -o json":                                                        false,
		"-n1 --columns pid,cpu%":                                                                false,
		"-n1 --columns pid,migrations_history":                                                  false,
		"-n1 --columns pid,comm --sort mig":                                                     false,
		"-n1 --columns pid,comm --filter delay>5":                                               false,
	} {
		_, v := headless(t, args)
		assert.Equal(t, atOnce, v.atOnce, args)
	}
}

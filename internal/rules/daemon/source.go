package daemon

import (
	"errors"
	"fmt"
	"time"

	"piton/internal/bpf"
	"piton/internal/feature"
	"piton/internal/kernel"
)

// Opened is a Source that was found.
type Opened struct {
	Source
	Name   string
	Better error // why it is not the best, nil if it is
	Close  func()
}

// OpenSource finds the best source of events that works: eBPF where that is wanted, the
// netlink process connector, else none at all, where only scans meet processes.
func OpenSource(ebpf bool) Opened {
	var better error
	if ebpf {
		events, err := bpf.OpenProcEvents(bpf.ProcEventsBytes)
		if err == nil {
			return Opened{bpfSource{events}, "eBPF", nil, events.Close}
		}
		if better = err; !errors.Is(err, feature.ErrNotSupported) {
			better = fmt.Errorf("it could not be told whether eBPF works: %w", err)
		}
	}
	connector, err := kernel.OpenProcConnector()
	if err == nil {
		return Opened{connectorSource{connector}, "process connector", better, func() { _ = connector.Close() }}
	}
	return Opened{noSource{}, fmt.Sprintf("a scan every %v", scanEvery), errors.Join(better, err), func() {}}
}

type bpfSource struct{ *bpf.ProcEvents }

func (bpfSource) Complete() bool { return true }

// connectorSource hears nothing in other namespaces than the initial ones, and is not
// told so: scans go on beside it.
type connectorSource struct{ *kernel.ProcConnector }

func (connectorSource) Complete() bool { return false }

// noSource is for machines where nothing reports events.
type noSource struct{}

func (noSource) Read(into []kernel.ProcEvent, most time.Duration) ([]kernel.ProcEvent, uint64, error) {
	time.Sleep(most)
	return into, 0, nil
}

func (noSource) Complete() bool { return false }

package stripnet

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"piton/internal/chart"
	"piton/internal/child"
	"piton/internal/kernel"
	"piton/internal/lab/netns"
	"piton/workloads/workload"
)

const (
	firstPort = 7000
	// patience is how long a socket waits for anything: far longer than all of it takes.
	patience = 5 * time.Second
)

// Command starts a further process of the workload, from the command that starts workloads.
func Command(workloads []string) []string {
	return append(slices.Clone(workloads), workload.PeerWord, Workload.Name)
}

// config is what a process is told. Its descriptors from 3 on are its sockets: a client's by
// server, or those of the servers.
type config struct {
	Sockets  int
	Serve    bool
	SettleNs int64
	PeriodNs int64
	EveryNs  int64 // a client begins a transfer so often; 0 = when the last is merged
}

// firstSocket is the descriptor of a process's first socket.
const firstSocket = 3

type part struct {
	Seconds        float64
	Bytes, Same    uint64 // read, and read on the CPU that had processed them
	Micros         []float64
	Migrations     uint64
	HaveMigrations bool
	Misses         uint64
	MissesWhy      string
	BusyNsPerS     float64 // of all CPUs together; from the servers
}

// Measure makes a period of traffic: new connections, and new processes at both ends of them.
// command is from Command; nothing is left running.
func (n *Network) Measure(ctx context.Context, command []string, l Load) (Reading, error) {
	var sockets []*os.File
	defer func() { closeAll(sockets) }()
	parts, err := child.Together[part](ctx, func(ctx context.Context, g *child.Group) error {
		one := config{SettleNs: int64(l.Settle), PeriodNs: int64(l.Period)}
		if l.PaceMBs > 0 {
			one.EveryNs = int64(float64(l.Clients) * TransferBytes * 1e3 / float64(l.PaceMBs))
		}
		clients, servers, err := n.connect(l.Clients)
		sockets = append(slices.Concat(clients...), servers...)
		if err != nil {
			return err
		}
		if _, err := start(ctx, g, command, "strip server", servers, one, true); err != nil {
			return err
		}
		var pids []kernel.TID
		for _, its := range clients {
			p, err := start(ctx, g, command, "client of strips", its, one, false)
			if err != nil {
				return err
			}
			pids = append(pids, p.PID)
		}
		if l.Started != nil {
			if err := l.Started(pids); err != nil {
				return err
			}
		}
		closeAll(sockets) // the processes have them: a connection ends with its process
		sockets = nil
		return nil
	}, nil)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Reading{}, fmt.Errorf("merge strips from %d servers: %w", len(n.servers), err)
	}
	return sum(parts[0], parts[1:]), nil
}

func start(ctx context.Context, g *child.Group, command []string, name string, sockets []*os.File, c config, serve bool) (*child.Process, error) {
	c.Sockets, c.Serve = len(sockets), serve
	return g.Start(ctx, child.Command{Name: name, Argv: command, Files: sockets}, c)
}

func (n *Network) connect(number int) (clients [][]*os.File, servers []*os.File, err error) {
	for k := range number {
		clients = append(clients, nil)
		for i, server := range n.servers {
			at := netip.AddrPortFrom(address(i, 2), uint16(firstPort+k))
			c, s, err := netns.ConnectTCP(n.Client, server, at, patience)
			if err != nil {
				return clients, servers, err
			}
			clients[k], servers = append(clients[k], c), append(servers, s)
		}
	}
	return clients, servers, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func sum(servers part, clients []part) Reading {
	r := Reading{HaveMigrations: true}
	var bytes, same, missed uint64
	var micros []float64
	for _, c := range clients {
		r.Seconds = max(r.Seconds, c.Seconds)
		r.MBs += float64(c.Bytes) / 1e6 / c.Seconds
		bytes, same, missed = bytes+c.Bytes, same+c.Same, missed+c.Misses
		micros = append(micros, c.Micros...)
		r.Migrations += c.Migrations
		r.HaveMigrations = r.HaveMigrations && c.HaveMigrations
		r.MissesWhy = cmp.Or(r.MissesWhy, c.MissesWhy)
	}
	if r.Transfers = len(micros); r.Transfers > 0 {
		slices.Sort(micros)
		r.P50, r.P99 = chart.Middle(micros), micros[min(len(micros)*99/100, len(micros)-1)]
		r.SameCPU = float64(same) / float64(bytes)
		r.CPUNsPerKB = servers.BusyNsPerS / (r.MBs * 1e3)
	}
	if r.MissesWhy == "" {
		r.Misses = &missed
	}
	return r
}

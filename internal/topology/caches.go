package topology

import (
	"runtime"
	"strconv"
	"sync"

	"piton/internal/cpuset"
	"piton/internal/crash"
)

// coresPerReader is how many cores one goroutine reads the caches of; a core
// has some ten files, 10 µs each, so that a second reader pays from here on.
const coresPerReader = 32

// usualIndices is how many cache/indexN a CPU commonly has at least: one missing
// below does not mean that no other follows.
const usualIndices = 3

// indexed is a cache with the N of its cache/indexN.
type indexed struct {
	index int
	Cache
}

// readCaches fills Caches and the LLC of the online CPUs from
// cpuN/cache/indexN.
func (t *Topology) readCaches(d dir) {
	firsts := t.firstOfCores()
	readers := min(runtime.GOMAXPROCS(0), len(firsts)/coresPerReader+1)
	found := make([][]indexed, readers)
	var wg sync.WaitGroup
	for r := range readers {
		part := firsts[len(firsts)*r/readers : len(firsts)*(r+1)/readers]
		if r == readers-1 {
			found[r] = t.cachesOf(d, part)
			break
		}
		wg.Go(func() { defer crash.Handle(); found[r] = t.cachesOf(d, part) })
	}
	wg.Wait()
	t.mergeCaches(found)
	t.setLLCs()
}

// firstOfCores returns one CPU of each core: its siblings share its caches.
func (t *Topology) firstOfCores() []cpuset.CPU {
	var out []cpuset.CPU
	for i := range t.CPUs {
		if c := &t.CPUs[i]; c.Online && c.Core.First() == c.ID {
			out = append(out, c.ID)
		}
	}
	return out
}

// cachesOf reads the caches of some CPUs. A cache that a CPU shares with an
// earlier one of them is known already, so it is not read again.
func (t *Topology) cachesOf(d dir, cpus []cpuset.CPU) []indexed {
	var out []indexed
	var covered []cpuset.Set // by index
	for _, id := range cpus {
		at := "cpu" + strconv.Itoa(int(id)) + "/cache/index"
		for index := 0; ; index++ {
			if index < len(covered) && covered[index].Has(id) {
				continue
			}
			c, ok := readCache(d, at+strconv.Itoa(index)+"/")
			if !ok && index < usualIndices {
				continue
			}
			if !ok {
				break
			}
			c.CPUs = c.CPUs.Or(cpuset.Of(id)).And(t.Online)
			out = append(out, indexed{index, c})
			for index >= len(covered) {
				covered = append(covered, cpuset.Set{})
			}
			covered[index] = covered[index].Or(c.CPUs)
		}
	}
	return out
}

func readCache(d dir, at string) (Cache, bool) {
	cpus, ok := d.set(at, "shared_cpu_map", "shared_cpu_list")
	if !ok {
		return Cache{}, false
	}
	level, _ := d.number(at, "level")
	kind, _ := d.read(at, "type")
	c := Cache{Level: level, Type: kind, CPUs: cpus}
	size, _ := d.read(at, "size")
	c.SizeBytes = parseSize([]byte(size))
	return c, true
}

// parseSize reads a cache size, "32K"; 0 when it is not known.
func parseSize(text []byte) int64 {
	unit := int64(1)
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'K':
			unit, text = 1<<10, text[:n-1]
		case 'M':
			unit, text = 1<<20, text[:n-1]
		}
	}
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return n * unit
}

// mergeCaches drops the caches that two readers found.
func (t *Topology) mergeCaches(found [][]indexed) {
	var covered []cpuset.Set
	for _, part := range found {
		for _, c := range part {
			for c.index >= len(covered) {
				covered = append(covered, cpuset.Set{})
			}
			if covered[c.index].Has(c.CPUs.First()) {
				continue
			}
			covered[c.index] = covered[c.index].Or(c.CPUs)
			t.Caches = append(t.Caches, c.Cache)
		}
	}
}

// setLLCs gives each CPU the outermost cache that covers it.
func (t *Topology) setLLCs() {
	level := make([]int, len(t.byNumber))
	for _, cache := range t.Caches {
		if cache.Type == "Instruction" {
			continue
		}
		for id := range cache.CPUs.All() {
			if cache.Level > level[id] {
				level[id] = cache.Level
				t.lookup(id).LLC = cache.CPUs
			}
		}
	}
}

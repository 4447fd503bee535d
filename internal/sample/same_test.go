package sample

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"piton/internal/bpf"
	"piton/internal/cpuset"
)

// A row is shared only if no field of it changed, whatever fields there are.
func TestSameSeesEveryField(t *testing.T) {
	id := &Identity{}
	assert.True(t, (&Task{ID: id}).same(&Task{ID: id}))
	fields := reflect.TypeFor[Task]()
	for i := range fields.NumField() {
		var other Task
		v := reflect.ValueOf(&other).Elem().Field(i)
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // unexported ones can be set, too
		switch {
		case v.Type() == reflect.TypeFor[cpuset.Set]():
			v.Set(reflect.ValueOf(cpuset.Of(70)))
		case v.Kind() == reflect.Struct:
			v.Field(0).SetUint(1)
		case v.Kind() == reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		default:
			v.SetFloat(1)
		}
		assert.False(t, other.same(&Task{}), fields.Field(i).Name)
		assert.False(t, (&Task{}).same(&other), fields.Field(i).Name)
	}
}

func TestRowsOfTasksAtRestAreShared(t *testing.T) {
	source := newBPFWalk(nil, liveSampler(t, Needs{}).fs, nil)
	var before []*Task
	tick := func(records ...bpf.Record) []*Task {
		source.records = records
		w := &walk{needs: newWanted(Needs{}), before: before}
		source.convert(w, &bpf.WalkStats{Masks: []cpuset.Set{cpuset.Of(0, 1)}}, nil)
		for _, at := range w.partial { // as details does with new ones
			w.tasks[at.now].ID.settled = true
		}
		before = w.tasks
		return w.tasks
	}
	rests := bpf.Record{Thread: bpf.Thread{TID: 7, TGID: 7, RunNs: 1e6}, Threads: 1, StartNs: 5e9, CPUNs: 1e6}
	runs := bpf.Record{Thread: bpf.Thread{TID: 8, TGID: 8, RunNs: 1e6}, Threads: 1, StartNs: 5e9, CPUNs: 1e6}
	tick(rests, runs)
	again := tick(rests, runs)
	runs.CPUNs++
	last := tick(rests, runs)
	assert.Same(t, again[0], last[0])
	assert.NotSame(t, again[1], last[1])
	assert.EqualValues(t, 1e6, again[1].RunNs)
	assert.EqualValues(t, 1e6+1, last[1].RunNs)
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFailed(t *testing.T) {
	for _, tt := range []struct {
		name, output string
		want         []string
	}{
		{"a test and a part of it", "--- FAIL: TestA (0.10s)\n    --- FAIL: TestA/part (0.00s)\n        a_test.go:7: text\n--- FAIL: TestB (0.00s)\nFAIL\n", []string{"TestA", "TestB"}},
		{"a panic", "--- FAIL: TestA (0.00s)\npanic: oh [recovered, repanicked]\n\ngoroutine 7 [running]:\n\tfile.go:1\n", []string{"TestA"}},
		{"too long", "panic: test timed out after 1s\n\trunning tests:\n\t\tTestA (1s)\n\t\tTestB/part (0s)\n\ngoroutine 9 [running]:\n\tmain.go\n", []string{"TestA", "TestB/part"}},
		{"a program that ended", "exit status 3\n", []string{"(no test named)"}},
	} {
		assert.Equal(t, tt.want, failed(tt.output), tt.name)
	}
}

// The output of the first failure is kept, and further ones are counted.
func TestFirstFailureIsKept(t *testing.T) {
	s := setting{dir: t.TempDir()}
	p := program{pkg: "piton/internal/x"}
	all := s.add(nil, p, []byte("--- FAIL: TestA (0.10s)\nfirst\n"))
	all = s.add(all, p, []byte("--- FAIL: TestB (0.10s)\n--- FAIL: TestA (0.10s)\nsecond\n"))
	require.Len(t, all, 2)
	assert.Equal(t, failure{"piton/internal/x TestA", filepath.Join(s.dir, "piton-internal-x-TestA.txt"), 2}, *all[0])
	kept, err := os.ReadFile(all[0].output)
	require.NoError(t, err)
	assert.Contains(t, string(kept), "first")
}

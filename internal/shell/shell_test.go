package shell

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWordsAreQuotedWhereTheyMustBe(t *testing.T) {
	for text, want := range map[string]string{
		"nginx.service": "nginx.service", "vm.swappiness=10": "vm.swappiness=10", "0-3,8": "0-3,8", "": "''",
		"4096 131072": "'4096 131072'", "it's": `'it'\''s'`, "eth0-*": "'eth0-*'", "é": "'é'", "a\nb\\'": `$'a\012b\\\''`, "\xff": `$'\377'`,
	} {
		assert.Equal(t, want, Word(text))
	}
	assert.Equal(t, "piton bench run -- sh -c 'sleep 1'", Join("piton", "bench", "run", "--", "sh", "-c", "sleep 1"))
}

// FuzzWord: what a shell makes of a word is the text.
func FuzzWord(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("bash is not installed")
	}
	for _, text := range []string{"", "a b", "it's", "$HOME `id` \"x\" \\", "a\x1b[2J\xff\n", "~", "-n", "*", "a=b", "€\u0085"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range []byte(text) {
			if r == 0 {
				t.Skip("no argument holds a NUL")
			}
		}
		out, err := exec.Command(bash, "-c", "printf %s "+Join(text)).Output()
		require.NoError(t, err)
		assert.Equal(t, text, string(out))
	})
}

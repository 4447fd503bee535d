package flags

import "github.com/spf13/pflag"

// Mark says of flags, where they are added, how they go together with others.
type Mark string

// The marks.
const (
	Headless Mark = "headless" // for piton --headless only
	Samples  Mark = "samples"  // about samples, not about a change
	Optional Mark = "optional" // "" is a value
)

// Add marks the flags with these names.
func (m Mark) Add(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = fs.SetAnnotation(name, string(m), nil) // the error is of a name that is no flag
	}
}

// Of reports whether a flag has the mark.
func (m Mark) Of(f *pflag.Flag) bool {
	_, ok := f.Annotations[string(m)]
	return ok
}

// FirstGiven is the first flag that was given and is among some, "" if none is.
func FirstGiven(fs *pflag.FlagSet, among func(*pflag.Flag) bool) (name string) {
	fs.Visit(func(f *pflag.Flag) {
		if name == "" && among(f) {
			name = f.Name
		}
	})
	return name
}

package tune

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"piton/internal/irq"
	"piton/internal/kernel"
)

// file reports whether the change is of a file of the kernel and not of a task.
func (c Change) file() bool { return c.Path != "" }

// read returns the value that the change's attribute has now.
func (t *Tuner) read(c Change) (string, error) {
	if !c.file() {
		a, ok := attributes[c.Attribute]
		if !ok {
			return "", unknown(c.Attribute)
		}
		return a.read(t, c)
	}
	f, err := fileOf(c.Attribute, c.Path)
	if err != nil {
		return "", err
	}
	text, err := t.o.Files.ReadSetting(c.Path)
	if err != nil {
		return "", err
	}
	return f.decode(text)
}

// write gives the change's attribute the value After.
func (t *Tuner) write(c Change) error {
	if !c.file() {
		a, ok := attributes[c.Attribute]
		if !ok {
			return unknown(c.Attribute)
		}
		return a.write(t, c)
	}
	f, err := fileOf(c.Attribute, c.Path)
	if err != nil {
		return err
	}
	text, err := f.encode(c.After)
	if err != nil {
		return err
	}
	return t.o.Files.WriteSetting(c.Path, text+"\n")
}

// unknown is for an entry that a later piton made.
func unknown(a Attribute) error { return usagef("this piton does not know the attribute %q", a) }

// identify fills in what tells the object of a file from a later one with the
// same path: a line's handlers, and the process whose session it is.
func (t *Tuner) identify(c *Change) error {
	switch c.Attribute {
	case IRQAffinity:
		c.Comm = irq.New(t.o.Proc.Root()).Name(lineOf(c.Path))
	case AutogroupNice:
		pid := processOf(c.Path)
		k, err := t.look(pid, pid)
		if err != nil {
			return err
		}
		c.PID, c.TID, c.StartTicks, c.Comm = pid, pid, k.startTicks, k.comm
	}
	return nil
}

// same makes sure that the file's path still means its object.
func (t *Tuner) same(c Change) error {
	now := Change{Attribute: c.Attribute, Path: c.Path}
	if err := t.identify(&now); err != nil {
		return err
	}
	if now.StartTicks != c.StartTicks || c.Attribute == IRQAffinity && now.Comm != c.Comm {
		return fmt.Errorf("%s is now another one, %s: %w", c.Object(), printable(now.Comm), ErrGone)
	}
	return nil
}

// lineOf is the number of the interrupt line of "/proc/irq/24/smp_affinity_list".
func lineOf(file string) int {
	n, _ := strconv.Atoi(path.Base(path.Dir(file)))
	return n
}

// processOf is the process of "/proc/3641/autogroup".
func processOf(file string) kernel.TID {
	n, _ := strconv.ParseInt(path.Base(path.Dir(file)), 10, 32)
	return kernel.TID(n)
}

// Object is what a sentence calls the thing that is changed: "irq 24 (virtio0-input.0)",
// "tid 3641".
func (c Change) Object() string {
	switch {
	case c.Name != "":
		return c.Name
	case c.file():
		return c.Path
	}
	return fmt.Sprintf("tid %d", c.TID)
}

// Title is what a sentence calls the attribute: "affinity of irq 24".
func (a Attribute) Title() string {
	if f, ok := fileAttributes[a]; ok {
		return f.title
	}
	switch a {
	case Nice:
		return "nice value"
	case IOPrio:
		return "I/O priority"
	}
	return strings.ReplaceAll(string(a), "-", " ")
}

// FilesText names the files among some changes: "irq 24 (virtio0-input.0)" or
// "3 IRQs", "4 receive queues, 1 sysctl"; "" when all are of tasks.
func FilesText(changes []Change) string {
	seen := map[string]bool{}
	count := map[[2]string]int{}
	var nouns [][2]string
	last := Change{}
	for _, c := range changes {
		if !c.file() || seen[c.Path] {
			continue
		}
		seen[c.Path], last = true, c
		noun := fileAttributes[c.Attribute].noun
		if noun[0] == "" {
			noun = [2]string{"file", "files"}
		}
		if count[noun]++; count[noun] == 1 {
			nouns = append(nouns, noun)
		}
	}
	if len(seen) == 1 {
		return last.Object()
	}
	words := make([]string, len(nouns))
	for i, noun := range nouns {
		words[i] = "1 " + noun[0]
		if n := count[noun]; n > 1 {
			words[i] = strconv.Itoa(n) + " " + noun[1]
		}
	}
	return strings.Join(words, ", ")
}

package cli

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"piton/internal/bench/store"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
)

func newSchema(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [TYPE]",
		Short: "print the JSON Schema of the lines of -o json",
		Long: `Print a JSON Schema (draft 2020-12) of the lines that commands print with -o json: of all types, or of those that TYPE means.
TYPE is the type of a line (irq), or that of one command where several have such a type (topo.cpu, headless.cpu).
Each line has type and v. Names may be added; v is raised when a name goes or its meaning or type changes.
The schema is made from the tables that write the lines.`,
		Example: "  piton schema irq\n  piton schema topo.cpu\n  piton schema > piton.schema.json",
		GroupID: app.GroupLook,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("piton schema takes one type, not %q as well", args[1])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			lines := lineSchemas()
			if len(args) == 1 {
				lines = slices.DeleteFunc(lines, func(s output.Schema) bool { return args[0] != s.Kind && args[0] != s.Name() })
			}
			if len(lines) == 0 {
				return exit.Usagef("there is no type of lines %q (see piton help json)", args[0])
			}
			e := json.NewEncoder(a)
			e.SetIndent("", "  ")
			e.SetEscapeHTML(false)
			return e.Encode(output.Document(lines))
		},
	}
}

// lineSchemas are those of all commands, benchmarks among them.
func lineSchemas() []output.Schema {
	all := output.Schemas()
	help := map[string]string{
		"study": "what was compared, and where", "run": "a run of a workload under a placement",
		"comparison": "a placement against the first one",
	}
	records := store.Records()
	for _, kind := range slices.Sorted(maps.Keys(records)) {
		all = append(all, output.OfStruct("bench", kind, help[kind], records[kind]))
	}
	return all
}

// Command piton shows which tasks migrate between CPUs, tunes them, and measures
// whether that helped.
package main

import (
	"os"

	"piton/internal/cli"
	"piton/internal/cli/app"
	"piton/internal/crash"
	_ "piton/internal/lab"
)

func main() {
	crash.EndBySignals()
	os.Exit(cli.Main(app.IO{Args: os.Args[1:], Env: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

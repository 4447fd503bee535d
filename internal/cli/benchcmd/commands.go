// Package benchcmd has piton bench: workloads, programs and processes compared under placements, stored
// studies, and published ones reproduced.
package benchcmd

import "piton/internal/cli/app"

// Commands are the commands of this package.
func Commands() app.Commands {
	return app.Commands{"bench": newBench}
}

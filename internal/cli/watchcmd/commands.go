// Package watchcmd has what only looks: samples without a screen (piton --headless), watch, why, topo,
// what-is and doctor.
package watchcmd

import "piton/internal/cli/app"

// Commands are the commands of this package.
func Commands() app.Commands {
	return app.Commands{"watch": newWatch, "why": newWhy, "topo": newTopo, "what-is": newWhatIs, "doctor": newDoctor}
}

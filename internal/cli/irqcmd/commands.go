// Package irqcmd has piton irq: interrupt lines, their rates and affinity, and the queues of network
// interfaces.
package irqcmd

import "piton/internal/cli/app"

// Commands are the commands of this package.
func Commands() app.Commands {
	return app.Commands{"irq": newIRQ}
}

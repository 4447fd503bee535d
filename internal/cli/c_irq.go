package cli

// irqCommands are the commands of this room.
func irqCommands() []maker {
	return []maker{{"irq", newIRQ}}
}

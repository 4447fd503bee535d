package cli

// benchCommands are the commands of this room.
func benchCommands() []maker {
	return []maker{{"bench", newBench}}
}

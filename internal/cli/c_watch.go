package cli

// watchCommands are the commands of this room.
func watchCommands() []maker {
	return []maker{{"watch", newWatch}, {"topo", newTopo}, {"what-is", newWhatIs}, {"doctor", newDoctor}}
}

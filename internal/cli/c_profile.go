package cli

// profileCommands are the commands of this room.
func profileCommands() []maker {
	return []maker{
		{"save", newSave}, {"apply", newApply}, {"verify", newVerify}, {"profiles", newProfiles}, {"sysctl", newSysctl},
		{"export", newExport},
	}
}

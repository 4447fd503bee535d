package tui

// grabbedIRQs is the selected interrupts.
func (m *Model) grabbedIRQs() *held { return nil }

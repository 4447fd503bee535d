// Package profilecmd has the commands about how a machine is tuned as a whole: save, apply, verify and
// profiles for profiles, sysctl for kernel settings, export for systemd and the shell.
package profilecmd

import "piton/internal/cli/app"

// Commands are the commands of this package.
func Commands() app.Commands {
	return app.Commands{
		"save": newSave, "apply": newApply, "verify": newVerify, "profiles": newProfiles, "sysctl": newSysctl, "export": newExport,
	}
}

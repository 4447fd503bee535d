// Package recordcmd has record and replay: samples kept in a file, and printed from it.
package recordcmd

import "piton/internal/cli/app"

// Commands are the commands of this package.
func Commands() app.Commands { return app.Commands{"record": newRecord, "replay": newReplay} }

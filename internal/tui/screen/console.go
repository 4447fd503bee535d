package screen

import "strings"

// onConsole replaces characters that the console fonts of Debian and Ubuntu do not have
// (Lat15-* and Uni2-* of console-setup 1.221), each by one as wide. The kernel draws a
// question mark or an empty box for them, whatever the locale.
var onConsole = strings.NewReplacer("▁", "_", "▂", ".", "▃", ":", "▄", "-", "▅", "=", "▆", "+", "▇", "*",
	"▏", "|", "▎", "░", "▍", "░", "▌", "▸", "▋", "▒", "▊", "▒", "▉", "▒", "▓", "#", "▕", "|", "⇧", "↑", "✓", "x")

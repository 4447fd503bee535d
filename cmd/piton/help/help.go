// Package help holds the pages of `piton help TOPIC`, which README.md links to. What
// stands between their markers is made by package cli; `make pages` rewrites it.
package help

import "embed"

// Pages are the topics' pages, TOPIC.md each.
//
//go:embed *.md
var Pages embed.FS

package theme

// Glyphs are the characters that pictures are drawn with. Every one of them is
// one cell wide.
type Glyphs struct {
	Bar   []string // filled fractions of a cell, from the least (1/8) to a full one
	Blank string   // an empty cell of a bar
	Spark []string // heights from lowest to highest
	Shade []string // densities for heat maps, from none to full

	Cursor    string // left of the row under the cursor
	Tag       string // left of a tagged row
	Mark      string // the least-loaded CPU
	SortDown  string // the table is sorted largest first
	SortUp    string // smallest first
	Checked   string // a tick box, in three cells
	Part      string // a tick box of which some parts are ticked
	Unchecked string
	Radio     string // the chosen one of several, in three cells
	RadioOff  string
	Arrow     string // before → after
	Command   string // before a command line
	Dot       string // between figures on a line
	Ellipsis  string // text was cut here
	None      string // no value
	AtLeast   string // a lower bound

	Horizontal, Vertical, Cross string
	TopLeft, BottomLeft         string
	TreeLast, TreeMid, TreeBar  string // branches, in two cells each
}

var unicodeGlyphs = Glyphs{
	Bar:   []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"},
	Blank: "·",
	Spark: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	Shade: []string{"·", "░", "▒", "▓", "█"},

	Cursor: "▌", Tag: "●", Mark: "▸", SortDown: "▾", SortUp: "▴",
	Checked: "[✓]", Part: "[-]", Unchecked: "[ ]", Radio: "(•)", RadioOff: "( )",
	Arrow: "→", Command: "≡", Dot: "·", Ellipsis: "…", None: "–",
	AtLeast: "≥",

	Horizontal: "─", Vertical: "│", Cross: "┼", TopLeft: "┌", BottomLeft: "└",
	TreeLast: "└─", TreeMid: "├─", TreeBar: "│ ",
}

var asciiGlyphs = Glyphs{
	Bar:   []string{" ", " ", " ", "|", "|", "|", "|", "|"},
	Blank: ".",
	Spark: []string{"_", ".", ":", "-", "=", "+", "*", "#"},
	Shade: []string{".", ":", "+", "%", "#"},

	Cursor: ">", Tag: "*", Mark: ">", SortDown: "v", SortUp: "^",
	Checked: "[x]", Part: "[-]", Unchecked: "[ ]", Radio: "(*)", RadioOff: "( )",
	Arrow: "->", Command: "=", Dot: "-", Ellipsis: "~", None: "-",
	AtLeast: ">=",

	Horizontal: "-", Vertical: "|", Cross: "+", TopLeft: "+", BottomLeft: "+",
	TreeLast: "`-", TreeMid: "|-", TreeBar: "| ",
}

package dialog

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// number is a whole number between bounds that is typed or stepped.
type number struct {
	value, min, max int
	typed           string // digits typed so far; the next one is put behind them
}

// key handles digits, steps and backspace, and reports whether it was one of
// them.
func (n *number) key(msg tea.KeyPressMsg) bool {
	switch key := msg.String(); key {
	case "right", "+":
		n.set(n.value + 1)
	case "left", "-":
		n.set(n.value - 1)
	case "backspace":
		n.retype(strings.TrimSuffix(n.typed, lastRune(n.typed)))
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
		if !n.retype(n.typed + key) {
			n.retype(key)
		}
	default:
		return false
	}
	return true
}

func (n *number) set(v int) { n.value, n.typed = max(n.min, min(v, n.max)), "" }

// retype takes the text as the value; text that is out of bounds is not taken.
func (n *number) retype(text string) bool {
	if text == "" {
		n.typed = text
		return true
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < n.min || v > n.max {
		return false
	}
	n.value, n.typed = v, text
	return true
}

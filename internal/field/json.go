package field

import (
	"math"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Type is what a value may be in JSON, as bits.
type Type uint16

// The types. Those of lists have null for an element that is not known.
const (
	TypeNull Type = 1 << iota
	TypeBool
	TypeInt
	TypeNumber
	TypeText
	TypeInts    // a list of whole numbers
	TypeTexts   // a list of texts
	TypeNumbers // an object of numbers by name
)

// Member is a name and a value of an object.
type Member struct {
	Name  string
	Value any
}

// AppendJSON adds one of a column's values as JSON. Beyond what encoding/json
// escapes, DEL and the C1 control characters are escaped too, as some terminals
// obey those; invalid UTF-8 becomes U+FFFD, and numbers that JSON does not have
// become null.
func AppendJSON(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendJSONString(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case []any:
		dst = append(dst, '[')
		for i, each := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, each)
		}
		return append(dst, ']')
	case []Member:
		dst = append(dst, '{')
		for i, m := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(append(appendJSONString(dst, m.Name), ':'), m.Value)
		}
		return append(dst, '}')
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return strconv.AppendFloat(dst, v, 'f', -1, 64)
		}
	}
	return append(dst, "null"...)
}

func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r > 0x7f && r != utf8.RuneError && unicode.IsPrint(r) {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = AppendEscape(dst, r)
		}
		i += size
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendEscape adds a character as JSON spells one that is not shown: \u202e, or two of those
// where it takes more than 16 bits.
func AppendEscape(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return AppendEscape(AppendEscape(dst, high), low)
	}
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

package field

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Known is a value, or null where it is not known or does not apply.
func Known[T any](value T, known bool) any {
	if !known {
		return nil
	}
	return value
}

// NonEmpty is a text, null for "".
func NonEmpty(text string) any { return Known(text, text != "") }

// NonNegative is a number, null for a negative one, which stands for none.
func NonNegative(n int) any { return Known(n, n >= 0) }

// Values is a list as a column's value.
func Values[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// Ints are numbers as a column's value.
func Ints[T ~int | ~int32](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = int(v)
	}
	return out
}

// Stamp is a time as JSON lines have it (RFC 3339, UTC).
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Plain is a value as text: a list with blanks, an object as name:value with blanks.
func Plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return Clean(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			if parts[i] = Plain(v[i]); parts[i] == "" {
				parts[i] = NoneASCII
			}
		}
		return strings.Join(parts, " ")
	case []Member:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = m.Name + ":" + Plain(m.Value)
		}
		return strings.Join(parts, " ")
	}
	return fmt.Sprint(v)
}

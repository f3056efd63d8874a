package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// valueText is the function str of §4.1: a string as it is, anything else as
// compact JSON.
func valueText(x any) string {
	if s, isText := x.(string); isText {
		return s
	}
	return jsonText(x)
}

// jsonText writes compact JSON (§4.1).
func jsonText(x any) string {
	switch v := x.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return numberText(v.String())
	case string:
		return quote(v)
	case []any:
		var parts []string
		for _, element := range v {
			parts = append(parts, jsonText(element))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quote(k)+":"+jsonText(v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	default:
		panic(fmt.Sprintf("reference: %T is not a decoded JSON value", x))
	}
}

// quote escapes only the characters that JSON requires (§4.1).
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"':
			b.WriteString(`\"`)
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// numberText returns the text of a JSON number literal (§4.1).
func numberText(literal string) string {
	if !strings.ContainsAny(literal, ".eE") && literal != "-0" {
		if _, err := strconv.ParseInt(literal, 10, 64); err == nil {
			return literal
		}
		if _, err := strconv.ParseUint(literal, 10, 64); err == nil {
			return literal
		}
	}
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return literal // the literal is beyond float64
	}
	return floatText(x)
}

// floatText returns the shortest text that reads as x again, always with a
// fraction (§4.1).
func floatText(x float64) string {
	// "-d.ddde±xx" becomes sign, digits, and the position of the point: x =
	// 0.digits × 10^point.
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	digits := strings.Replace(mantissa, ".", "", 1)
	e, _ := strconv.Atoi(exponent)
	point := e + 1

	switch {
	case x == 0:
		return sign + "0.0"
	case 0 < point && point <= 16 && len(digits) <= point:
		return sign + digits + strings.Repeat("0", point-len(digits)) + ".0"
	case 0 < point && point <= 16:
		return sign + digits[:point] + "." + digits[point:]
	case -5 < point && point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case len(digits) == 1:
		return sign + digits + "e" + strconv.Itoa(e)
	default:
		return sign + digits[:1] + "." + digits[1:] + "e" + strconv.Itoa(e)
	}
}

// lower is full Unicode lower-casing (§4.4): character by character, with two
// special cases.
func lower(s string) string {
	characters := []rune(s)
	var b strings.Builder
	for i, r := range characters {
		switch {
		case r == 'İ': // U+0130 becomes i and a combining dot above
			b.WriteString("i\u0307")
		case r == 'Σ' && isFinal(characters, i):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// isFinal is Final_Sigma of the Unicode Standard, section 3.13: a cased letter
// before and none after, where case-ignorable characters are skipped.
func isFinal(s []rune, i int) bool {
	before := i - 1
	for before >= 0 && caseIgnorable(s[before]) {
		before--
	}
	after := i + 1
	for after < len(s) && caseIgnorable(s[after]) {
		after++
	}
	return before >= 0 && cased(s[before]) && !(after < len(s) && cased(s[after]))
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable is Case_Ignorable: the categories, and Word_Break MidLetter,
// MidNumLet and Single_Quote.
func caseIgnorable(r rune) bool {
	const wordBreak = ":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a" + // MidLetter
		".\u2018\u2019\u2024\ufe52\uff07\uff0e" + // MidNumLet
		"'" // Single_Quote
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune(wordBreak, r)
}

// asciiLower lower-cases A–Z only (§4.5).
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

package management

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of values.
const (
	mostName     = 150
	mostEmail    = 254
	mostPassword = 128
	mostDocument = 64 << 10 // bytes of a JSON field
	mostText     = 10_000   // a description
	mostListed   = 255      // a name in a list
	mostDepth    = 32
)

// A checker returns an error if an Optional may not have its value, and puts the
// value into its normal form otherwise.
type checker[T any] func(attr string, o *Optional[T]) error

func notNull[T any](attr string, o *Optional[T]) error {
	if o.Null {
		return invalid(attr, "null", "This field may not be null.")
	}
	return nil
}

// checkRequired checks a string that must be there.
func checkRequired(attr string, o *Optional[string]) error {
	if !o.Set {
		return invalid(attr, "required", "This field is required.")
	}
	return checkText(attr, o)
}

// checkBool checks a boolean that must not be null.
func checkBool(attr string, o *Optional[bool]) error {
	return cmp.Or(checkBoolOrNull(attr, o), notNull(attr, o))
}

func checkBoolOrNull(attr string, o *Optional[bool]) error {
	if o.raw != nil {
		return invalid(attr, "invalid_input", "Must be a valid boolean.")
	}
	return nil
}

// checkString checks a string that must not be null. It is trimmed.
func checkString(attr string, o *Optional[string], most int) error {
	if err := checkText(attr, o); err != nil || !o.Set {
		return err
	}
	o.Value = strings.TrimSpace(o.Value)
	return checkLength(attr, o.Value, most)
}

func checkLength(attr, value string, most int) error {
	if utf8.RuneCountInString(value) > most {
		return invalid(attr, "max_length", "Ensure this field has no more than %d characters.", most)
	}
	if strings.ContainsRune(value, 0) {
		return invalid(attr, "null_characters_not_allowed", "Null characters are not allowed.")
	}
	return nil
}

// checkText checks the type of a string, which numbers may stand for.
func checkText(attr string, o *Optional[string]) error {
	if o.raw != nil {
		if c := o.raw[0]; c != '-' && (c < '0' || c > '9') {
			return invalid(attr, "invalid_input", "Not a valid string.")
		}
		o.Value, o.raw = string(o.raw), nil
	}
	if !utf8.ValidString(o.Value) {
		return invalid(attr, "invalid_input", "Not a valid string.")
	}
	return notNull(attr, o)
}

// checkTitle checks a name of a thing.
func checkTitle(attr string, o *Optional[string], most int) error {
	if err := checkString(attr, o, most); err != nil || !o.Set {
		return err
	}
	if o.Value == "" {
		return invalid(attr, "blank", "This field may not be blank.")
	}
	if strings.ContainsFunc(o.Value, unicode.IsControl) { // it will be in subjects of mails
		return invalid(attr, "invalid_control_char", "Control characters and line breaks are not allowed.")
	}
	return nil
}

func checkName(attr string, o *Optional[string]) error {
	if err := checkString(attr, o, mostName); err != nil || !o.Set {
		return err
	}
	return checkHuman(attr, o.Value)
}

// looksLikeLink finds addresses in the names of people, which would be links in
// mails to others.
var looksLikeLink = regexp.MustCompile(`(?i)://|\bwww\.|\b[a-z0-9-]+\.(?:[a-z0-9-]+\.)*(?:com|net|org|io|co|app|dev|ai|info|biz|xyz|ru|cn|de|uk|me|ly|link|site|online|top|shop|store|click|ch|fr|eu|us)\b`)

// checkHuman refuses what no name of a person or a thing has, but an attempt to
// deceive (management.md §4.1).
func checkHuman(attr, value string) error {
	folded := norm.NFKC.String(value)
	for _, r := range folded {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return invalid(attr, "invalid_control_char", "Control characters and line breaks are not allowed.")
		case r == '<', r == '>':
			return invalid(attr, "invalid_bracket", "The characters < and > are not allowed.")
		case unicode.Is(unicode.Cf, r), r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0':
			return invalid(attr, "invalid_invisible_char", "Invisible characters are not allowed.")
		}
	}
	if looksLikeLink.MatchString(folded) {
		return invalid(attr, "invalid_url", "Web addresses are not allowed.")
	}
	return nil
}

var (
	errEmailTaken = invalid("email", "unique", "There is already an account with this email address.")

	// emailDomain is a host name with at least one dot, or localhost, where
	// the first account of an installation lives.
	emailDomain = regexp.MustCompile(`^(?:localhost|(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?)$`)
)

func normalEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// checkEmail checks an address and makes it lower case.
func checkEmail(attr string, o *Optional[string]) error {
	if err := checkString(attr, o, mostEmail); err != nil || !o.Set {
		return err
	}
	if o.Value == "" {
		return invalid(attr, "blank", "This field may not be blank.")
	}
	o.Value = normalEmail(o.Value)
	if !validEmail(o.Value) {
		return invalid(attr, "invalid_input", "Enter a valid email address.")
	}
	return nil
}

func validEmail(s string) bool {
	address, err := mail.ParseAddress(s)
	invisible := func(r rune) bool { return !unicode.IsPrint(r) }
	if err != nil || address.Address != s || address.Name != "" || strings.ContainsAny(s, "<>\"\\ ") || strings.ContainsFunc(s, invisible) {
		return false
	}
	return emailDomain.MatchString(s[strings.LastIndexByte(s, '@')+1:])
}

func checkPasswordText(attr string, o *Optional[string]) error {
	if err := checkText(attr, o); err != nil || !o.Set {
		return err
	}
	if strings.TrimSpace(o.Value) == "" {
		return invalid(attr, "blank", "This field may not be blank.")
	}
	return checkLength(attr, o.Value, mostPassword)
}

// oneOf is the checker of a text that must be one of several.
func oneOf(choices []string) checker[string] {
	return func(attr string, o *Optional[string]) error {
		if o.raw == nil && o.Null {
			return notNull(attr, o)
		}
		return checkChoice(attr, o, choices)
	}
}

// oneOfOrNull is oneOf for a text that may also be null or "".
func oneOfOrNull(choices []string) checker[string] {
	return func(attr string, o *Optional[string]) error {
		if o.raw == nil && o.Value == "" {
			return nil
		}
		return checkChoice(attr, o, choices)
	}
}

func checkChoice(attr string, o *Optional[string], choices []string) error {
	value := o.Value
	switch {
	case o.raw != nil:
		value = string(o.raw)
	case !o.Set, slices.Contains(choices, value):
		return nil
	}
	return invalid(attr, "invalid_choice", "%q is not a valid choice.", excerpt(value))
}

// upTo is the checker of a value with a limit.
func upTo[T any](check func(attr string, o *Optional[T], most int) error, most int) checker[T] {
	return func(attr string, o *Optional[T]) error { return check(attr, o, most) }
}

// emptyIsNull is the checker of a text of which "" means null.
func emptyIsNull(check checker[string]) checker[string] {
	return func(attr string, o *Optional[string]) error {
		o.Null = o.Set && o.raw == nil && o.Value == ""
		return check(attr, o)
	}
}

// requiredIf is the checker of a value that must be sent under a condition.
func requiredIf[T any](required bool, check checker[T]) checker[T] {
	return func(attr string, o *Optional[T]) error {
		if required && !o.Set {
			return invalid(attr, "required", "This field is required.")
		}
		return check(attr, o)
	}
}

func checkInteger[T int | int64](attr string, o *Optional[T]) error {
	if o.raw != nil {
		return invalid(attr, "invalid_input", "A valid integer is required.")
	}
	return nil
}

// between is the checker of an integer, which may be null.
func between(least, most int) checker[int] {
	return func(attr string, o *Optional[int]) error {
		switch err := checkInteger(attr, o); {
		case err != nil, !o.Set, o.Null:
			return err
		case o.Value < least:
			return invalid(attr, "min_value", "Ensure this value is greater than or equal to %d.", least)
		case o.Value > most:
			return invalid(attr, "max_value", "Ensure this value is less than or equal to %d.", most)
		}
		return nil
	}
}

// timeForms are what times may look like. Those without a zone are UTC.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04"}

// readTime reads a time, which may be null.
func readTime(attr string, o *Optional[string]) (*time.Time, error) {
	if o.raw == nil && (!o.Set || o.Null) {
		return nil, nil
	}
	for _, form := range timeForms {
		t, err := time.Parse(form, o.Value)
		if t = t.UTC().Truncate(time.Microsecond); o.raw == nil && err == nil && t.Year() >= 1 && t.Year() <= 9999 {
			return &t, nil
		}
	}
	return nil, invalid(attr, "invalid_input", "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")
}

// checkDocument checks a field that may hold any JSON but null.
func checkDocument(attr string, o *Optional[json.RawMessage], most int) error {
	return cmp.Or(notNull(attr, o), checkDocumentOrNull(attr, o, most))
}

func checkDocumentOrNull(attr string, o *Optional[json.RawMessage], most int) error {
	if !o.Set || o.Null {
		return nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, o.Value); err != nil || !utf8.Valid(o.Value) {
		return invalid(attr, "invalid_input", "Value must be valid JSON.")
	}
	o.Value = b.Bytes()
	if len(o.Value) > most {
		return invalid(attr, "invalid_input", "Ensure this value has no more than %d bytes.", most)
	}
	depth := 0
	inString := false
	for i := 0; i < len(o.Value); i++ {
		switch c := o.Value[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			if depth++; depth > mostDepth {
				return invalid(attr, "invalid_input", "Ensure this value is nested no more than %d levels deep.", mostDepth)
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return nil
}

// decodeList decodes a list. Null is an empty one.
func decodeList[T any](attr string, o *Optional[json.RawMessage]) ([]T, error) {
	if o.Null {
		return nil, nil
	}
	const most = 1000
	var values []T
	if kind := kindOf(o.Value); kind != "list" {
		return nil, invalid(attr, "not_a_list", "Expected a list of items but got type %q.", kind)
	}
	if json.Unmarshal(o.Value, &values) != nil || len(values) > most {
		return nil, invalid(attr, "invalid_input", "One of the items has the wrong type, or there are more than %d.", most)
	}
	return values, nil
}

// readNames decodes a list of names and puts it into its normal form: the names are
// trimmed, made normal and sorted, and each counts once.
func readNames(attr string, o *Optional[json.RawMessage], most int, normal func(string) string) ([]string, error) {
	names, err := decodeList[string](attr, o)
	if err != nil {
		return nil, err
	}
	clean := []string{}
	for _, name := range names {
		name = normal(strings.TrimSpace(name))
		if name == "" {
			return nil, invalid(attr, "blank", "This field may not be blank.")
		}
		if err := checkLength(attr, name, mostListed); err != nil {
			return nil, err
		}
		clean = append(clean, name)
	}
	slices.Sort(clean)
	if clean = slices.Compact(clean); len(clean) > most {
		return nil, invalid(attr, "max_length", "Ensure this field has no more than %d elements.", most)
	}
	o.Null, o.Value = false, mustJSON(clean)
	return clean, nil
}

// uniqueValues removes what comes twice.
func uniqueValues[T comparable](values []T) []T {
	var once []T
	for _, v := range values {
		if !slices.Contains(once, v) {
			once = append(once, v)
		}
	}
	return once
}

package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// Limits of values. Lengths of texts are in characters.
const (
	MaxText     = 10_000   // a description
	MaxDocument = 64 << 10 // bytes of a JSON field

	maxName     = 150
	maxEmail    = 254
	maxPassword = 128
	maxListed   = 255 // a name in a list
	maxDepth    = 32  // levels of a JSON field
)

// A Func returns an error if a field of a change may not have its value, and puts
// the value into its normal form otherwise. A field that is absent is in order
// unless the Func says otherwise. Attr is the name of the field.
type Func[T any] func(attr string, o *optional.Value[T]) error

// NotNull refuses null.
func NotNull[T any](attr string, o *optional.Value[T]) error {
	if o.Null {
		return judge.New(attr, "null", "This field may not be null.")
	}
	return nil
}

// Required checks a string that must be there.
func Required(attr string, o *optional.Value[string]) error {
	if !o.Set {
		return judge.New(attr, "required", "This field is required.")
	}
	return Text(attr, o)
}

// Bool checks a boolean that must not be null.
func Bool(attr string, o *optional.Value[bool]) error {
	return cmp.Or(BoolOrNull(attr, o), NotNull(attr, o))
}

// BoolOrNull checks a boolean that may be null.
func BoolOrNull(attr string, o *optional.Value[bool]) error {
	if o.Undecoded() != nil {
		return judge.New(attr, "invalid_input", "Must be a valid boolean.")
	}
	return nil
}

// String checks a string of at most the given number of characters that must not be
// null, and trims it.
func String(attr string, o *optional.Value[string], most int) error {
	if err := Text(attr, o); err != nil || !o.Set {
		return err
	}
	o.Value = strings.TrimSpace(o.Value)
	return Length(attr, o.Value, most)
}

// Length checks the number of characters of a string.
func Length(attr, value string, most int) error {
	if utf8.RuneCountInString(value) > most {
		return judge.New(attr, "max_length", "Ensure this field has no more than %d characters.", most)
	}
	if strings.ContainsRune(value, 0) {
		return judge.New(attr, "null_characters_not_allowed", "Null characters are not allowed.")
	}
	return nil
}

// Text checks the type of a string that must not be null. A number is taken for the
// string of its digits.
func Text(attr string, o *optional.Value[string]) error {
	if o.Undecoded() != nil {
		if c := o.Undecoded()[0]; c != '-' && (c < '0' || c > '9') {
			return judge.New(attr, "invalid_input", "Not a valid string.")
		}
		*o = optional.Of(string(o.Undecoded()))
	}
	if !utf8.ValidString(o.Value) {
		return judge.New(attr, "invalid_input", "Not a valid string.")
	}
	return NotNull(attr, o)
}

// Title checks the name of a thing.
func Title(attr string, o *optional.Value[string], most int) error {
	if err := String(attr, o, most); err != nil || !o.Set {
		return err
	}
	if o.Value == "" {
		return judge.New(attr, "blank", "This field may not be blank.")
	}
	if strings.ContainsFunc(o.Value, unicode.IsControl) { // it will be in subjects of mails
		return judge.New(attr, "invalid_control_char", "Control characters and line breaks are not allowed.")
	}
	return nil
}

// PasswordText checks the length of a password, whatever else it must be.
func PasswordText(attr string, o *optional.Value[string]) error {
	if err := Text(attr, o); err != nil || !o.Set {
		return err
	}
	if strings.TrimSpace(o.Value) == "" {
		return judge.New(attr, "blank", "This field may not be blank.")
	}
	return Length(attr, o.Value, maxPassword)
}

// OneOf returns the Func of a text that must be one of several.
func OneOf(choices []string) Func[string] {
	return func(attr string, o *optional.Value[string]) error {
		if o.Undecoded() == nil && o.Null {
			return NotNull(attr, o)
		}
		return choice(attr, o, choices)
	}
}

// OneOfOrNull is OneOf for a text that may also be null or "".
func OneOfOrNull(choices []string) Func[string] {
	return func(attr string, o *optional.Value[string]) error {
		if o.Undecoded() == nil && o.Value == "" {
			return nil
		}
		return choice(attr, o, choices)
	}
}

func choice(attr string, o *optional.Value[string], choices []string) error {
	value := o.Value
	switch {
	case o.Undecoded() != nil:
		value = string(o.Undecoded())
	case !o.Set, slices.Contains(choices, value):
		return nil
	}
	return judge.New(attr, "invalid_choice", "%q is not a valid choice.", Excerpt(value))
}

// UpTo returns the Func of a value with a limit.
func UpTo[T any](check func(attr string, o *optional.Value[T], most int) error, most int) Func[T] {
	return func(attr string, o *optional.Value[T]) error { return check(attr, o, most) }
}

// EmptyIsNull returns the Func of a text of which "" means null.
func EmptyIsNull(check Func[string]) Func[string] {
	return func(attr string, o *optional.Value[string]) error {
		o.Null = o.Set && o.Undecoded() == nil && o.Value == ""
		return check(attr, o)
	}
}

// RequiredIf returns the Func of a value that must be sent under a condition.
func RequiredIf[T any](required bool, check Func[T]) Func[T] {
	return func(attr string, o *optional.Value[T]) error {
		if required && !o.Set {
			return judge.New(attr, "required", "This field is required.")
		}
		return check(attr, o)
	}
}

// Integer checks an integer, which may be null.
func Integer[T int | int64](attr string, o *optional.Value[T]) error {
	if o.Undecoded() != nil {
		return judge.New(attr, "invalid_input", "A valid integer is required.")
	}
	return nil
}

// Between returns the Func of an integer from least to most, which may be null.
func Between(least, most int) Func[int] {
	return func(attr string, o *optional.Value[int]) error {
		switch err := Integer(attr, o); {
		case err != nil, !o.Set, o.Null:
			return err
		case o.Value < least:
			return judge.New(attr, "min_value", "Ensure this value is greater than or equal to %d.", least)
		case o.Value > most:
			return judge.New(attr, "max_value", "Ensure this value is less than or equal to %d.", most)
		}
		return nil
	}
}

// timeForms are what times may look like. Those without a zone are UTC.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04"}

// ReadTime reads a time, which may be null.
func ReadTime(attr string, o *optional.Value[string]) (*time.Time, error) {
	if o.Undecoded() == nil && (!o.Set || o.Null) {
		return nil, nil
	}
	for _, form := range timeForms {
		t, err := time.Parse(form, o.Value)
		if t = t.UTC().Truncate(time.Microsecond); o.Undecoded() == nil && err == nil && t.Year() >= 1 && t.Year() <= 9999 {
			return &t, nil
		}
	}
	return nil, judge.New(attr, "invalid_input", "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")
}

// Document checks a field that may hold any JSON but null, of at most the given
// number of bytes, and compacts it.
func Document(attr string, o *optional.Value[json.RawMessage], most int) error {
	return cmp.Or(NotNull(attr, o), DocumentOrNull(attr, o, most))
}

// DocumentOrNull is Document for a field that may be null.
func DocumentOrNull(attr string, o *optional.Value[json.RawMessage], most int) error {
	if !o.Set || o.Null {
		return nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, o.Value); err != nil || !utf8.Valid(o.Value) {
		return judge.New(attr, "invalid_input", "Value must be valid JSON.")
	}
	o.Value = b.Bytes()
	if len(o.Value) > most {
		return judge.New(attr, "invalid_input", "Ensure this value has no more than %d bytes.", most)
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
			if depth++; depth > maxDepth {
				return judge.New(attr, "invalid_input", "Ensure this value is nested no more than %d levels deep.", maxDepth)
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return nil
}

// maxElements is how many elements a list has that a client sent.
const maxElements = 1000

// inElement adds to the error about an element of a list which one it is.
func inElement(i int, err error) error {
	if e, ok := errors.AsType[*judge.Error](err); ok {
		e.Path = []string{strconv.Itoa(i)}
	}
	return err
}

// DecodeList decodes a list. Null is an empty one.
func DecodeList[T any](attr string, o *optional.Value[json.RawMessage]) ([]T, error) {
	if o.Null {
		return nil, nil
	}
	if kind := rawjson.Kind(o.Value); kind != "list" {
		return nil, judge.New(attr, "not_a_list", "Expected a list of items but got type %q.", kind)
	}
	var raw []json.RawMessage
	if json.Unmarshal(o.Value, &raw) != nil || len(raw) > maxElements {
		return nil, judge.New(attr, "invalid_input", "Ensure this field has no more than %d elements.", maxElements)
	}
	values := make([]T, 0, len(raw))
	for i, element := range raw {
		var value T
		if json.Unmarshal(element, &value) != nil {
			return nil, inElement(i, judge.New(attr, "invalid_input", "The item has the wrong type: %s.", Excerpt(string(element))))
		}
		values = append(values, value)
	}
	return values, nil
}

// ReadNames decodes a list of names and puts it into its normal form: the names are
// trimmed, made normal and sorted, and each counts once.
func ReadNames(attr string, o *optional.Value[json.RawMessage], most int, normal func(string) string) ([]string, error) {
	names, err := DecodeList[string](attr, o)
	if err != nil {
		return nil, err
	}
	clean := []string{}
	for i, name := range names {
		name = normal(strings.TrimSpace(name))
		if name == "" {
			return nil, inElement(i, judge.New(attr, "blank", "This field may not be blank."))
		}
		if err := Length(attr, name, maxListed); err != nil {
			return nil, inElement(i, err)
		}
		clean = append(clean, name)
	}
	slices.Sort(clean)
	if clean = slices.Compact(clean); len(clean) > most {
		return nil, judge.New(attr, "max_length", "Ensure this field has no more than %d elements.", most)
	}
	o.Null, o.Value = false, rawjson.Must(clean)
	return clean, nil
}

// ParseID reads a UUID in its usual form only: uuid.Parse reads others as well.
func ParseID(text string) (uuid.UUID, error) {
	if len(text) != len(uuid.Nil.String()) {
		return uuid.Nil, errors.New("check: want a UUID in its usual form")
	}
	return uuid.Parse(text)
}

// maxSearch is how long the text of a search may be, in characters.
const maxSearch = 200

// Search checks the text of a search, which the parameter search has.
func Search(text string) error { return SearchBy("search", text) }

// SearchBy is Search for another parameter.
func SearchBy(name, text string) error {
	if utf8.RuneCountInString(text) > maxSearch {
		return judge.New(name, "max_length", "Ensure this field has no more than %d characters.", maxSearch)
	}
	return nil
}

// Selected checks the value of a parameter that selects things by one of several values;
// "" selects all.
func Selected(name, value string, choices ...string) error {
	if value == "" || slices.Contains(choices, value) {
		return nil
	}
	return judge.New(name, "invalid_choice", "%s must be one of %s, not %q.", name, strings.Join(choices, ", "), Excerpt(value))
}

// Excerpt returns as much of a value as a message quotes: at most 50 bytes.
func Excerpt(value string) string { return strings.ToValidUTF8(value[:min(len(value), 50)], "") }

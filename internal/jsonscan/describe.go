package jsonscan

import "unicode/utf8"

// Describe says what a value is, for an error about its type. It quotes neither
// strings nor arrays and objects, because secrets may be in them.
func (v Value) Describe() string {
	switch v.Kind() {
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	case Invalid:
		return "nothing"
	}
	return Clip(v)
}

// Clip shortens a value for an error.
func Clip(value []byte) string {
	const longest = 60 // bytes
	if len(value) <= longest {
		return string(value)
	}
	n := longest
	for n > 0 && !utf8.RuneStart(value[n]) {
		n--
	}
	return string(value[:n]) + "…"
}

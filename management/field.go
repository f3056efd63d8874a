package management

import (
	"bytes"
	"encoding/json"
	"time"
)

// A field is a row of the table that describes a kind of thing: one attribute, how
// the value that a patch has for it is checked and applied to the thing, and what
// the activity log says of it. A table is made for one thing and one patch, to which
// its rows point.
type field struct {
	attr string

	sent  sentValue    // by the patch; nil if no patch has the attribute
	check func() error // the value that was sent, which is put into its normal form; nil if nothing was sent
	apply func()       // the value to the thing; nil if a row does not know how

	logged bool
	value  any // of the thing when the table was made, as it is logged
}

// A sentValue is an Optional of any type.
type sentValue interface {
	isSet() bool
	leaveOut()                 // makes the attribute one that was not sent
	sentJSON() json.RawMessage // null for null
}

// checkedField is a row whose value is applied by other means than the table.
func checkedField[T any](attr string, o *Optional[T], check checker[T]) field {
	return field{attr: attr, sent: o, check: func() error { return check(attr, o) }}
}

// plainField is a row whose value is stored as it was sent, and null as the zero
// value. It is logged as it is stored.
func plainField[T any](attr string, o *Optional[T], dst *T, check checker[T]) field {
	f := checkedField(attr, o, check).loggedAs(*dst)
	f.apply = func() {
		if o.Set {
			*dst = o.Value
		}
	}
	return f
}

// nullableField is a row whose value is stored as a pointer, and null as nil. It is
// logged as it is stored.
func nullableField[T any](attr string, o *Optional[T], dst **T, check checker[T]) field {
	f := checkedField(attr, o, check).loggedAs(*dst)
	f.apply = func() {
		switch {
		case o.Null:
			*dst = nil
		case o.Set:
			*dst = &o.Value
		}
	}
	return f
}

// defaultField is a row for a text of which null and "" stand for a default.
func defaultField(attr string, o *Optional[string], dst *string, otherwise string, check checker[string]) field {
	f := checkedField(attr, o, check).loggedAs(*dst)
	f.apply = func() {
		switch {
		case !o.Set:
		case o.Null, o.Value == "":
			*dst = otherwise
		default:
			*dst = o.Value
		}
	}
	return f
}

// listField is a row for a list, as read returns it.
func listField[T any](attr string, o *Optional[json.RawMessage], dst *[]T, read func(attr string, o *Optional[json.RawMessage]) ([]T, error)) field {
	f := checkedField(attr, o, func(attr string, o *Optional[json.RawMessage]) error {
		if !o.Set {
			return nil
		}
		_, err := read(attr, o)
		return err
	}).loggedAs(*dst)
	f.apply = func() {
		if o.Set {
			*dst, _ = read(attr, o) // which has been checked
		}
	}
	return f
}

// timeField is a row for a time, which may be null. The check may be nil; it is not
// called for a time that was not sent or is null.
func timeField(attr string, o *Optional[string], dst **time.Time, check func(time.Time) error) field {
	f := checkedField(attr, o, func(attr string, o *Optional[string]) error {
		t, err := readTime(attr, o)
		if err == nil && t != nil && check != nil {
			err = check(*t)
		}
		return err
	}).loggedAs(*dst)
	f.apply = func() {
		if o.Set {
			*dst, _ = readTime(attr, o) // which has been checked
		}
	}
	return f
}

// loggedField is a row for an attribute that no patch has.
func loggedField(attr string, value any) field { return field{attr: attr}.loggedAs(value) }

// loggedAs returns the row with a value for the activity log.
func (f field) loggedAs(value any) field {
	f.logged, f.value = true, value
	return f
}

// unlogged returns the row without a value for the activity log.
func (f field) unlogged() field {
	f.logged, f.value = false, nil
	return f
}

// valueJSON returns the value of the thing.
func (f *field) valueJSON() json.RawMessage {
	if raw, ok := f.value.(json.RawMessage); ok {
		return orNull(raw)
	}
	return mustJSON(f.value)
}

// fields is a table of rows, in the order in which they are checked and logged.
type fields []field

// check returns the error of the first row that has one.
func (list fields) check() error {
	for i := range list {
		if check := list[i].check; check != nil {
			if err := check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply applies what was sent to the thing, as far as the rows know how. What was
// sent has been checked.
func (list fields) apply() {
	for i := range list {
		if apply := list[i].apply; apply != nil {
			apply()
		}
	}
}

// differences returns what the activity log says of a change of a thing, from the
// tables before and after it. All empty values are equal (management.md §11.7).
func differences(scope string, before, after fields) []fieldChange {
	list := []fieldChange{}
	for i := range before {
		if !before[i].logged {
			continue
		}
		was, is := before[i].valueJSON(), after[i].valueJSON()
		action := "changed"
		switch created, deleted := emptyJSON(was), emptyJSON(is); {
		case created && deleted, bytes.Equal(was, is):
			continue
		case created:
			action = "created"
		case deleted:
			action = "deleted"
		}
		list = append(list, fieldChange{scope, before[i].attr, was, is, action})
	}
	return list
}

// sameValues reports whether a change of a thing has changed no logged value, not
// even an empty one to another.
func sameValues(before, after fields) bool {
	for i := range before {
		if before[i].logged && !bytes.Equal(before[i].valueJSON(), after[i].valueJSON()) {
			return false
		}
	}
	return true
}

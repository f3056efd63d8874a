package field

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A Row describes one attribute of a thing: how the value that a patch has for it
// is checked and applied to the thing, and what the activity log says of it.
type Row struct {
	Attr   string
	Logged bool // whether the activity log has the attribute
	Sent   Sent // what the patch has for the attribute; nil if no patch has it

	check func() error // checks what was sent and puts it into its normal form; nil if no patch has the attribute
	apply func()       // applies what was sent to the thing; nil if the row cannot do that
	value any          // the value of the thing when the table was made, as it is logged
}

// Sent is what a patch has for an attribute: an [optional.Value] of some type.
type Sent interface {
	IsSet() bool
	LeaveOut()             // takes the attribute out of the patch
	JSON() json.RawMessage // null for null
}

type sentValue[T any] struct{ *optional.Value[T] }

func (s sentValue[T]) IsSet() bool { return s.Set }

func (s sentValue[T]) LeaveOut() { s.Set = false }

func (s sentValue[T]) JSON() json.RawMessage {
	if s.Null {
		return json.RawMessage("null")
	}
	return rawjson.Must(s.Value.Value)
}

// Checked returns a row whose value is applied by other means than the table.
func Checked[T any](attr string, o *optional.Value[T], judge check.Func[T]) Row {
	return Row{Attr: attr, Sent: sentValue[T]{o}, check: func() error { return judge(attr, o) }}
}

// Plain returns a row whose value is stored as it was sent, and null as the zero
// value. It is logged as it is stored.
func Plain[T any](attr string, o *optional.Value[T], dst *T, judge check.Func[T]) Row {
	f := Checked(attr, o, judge).LoggedAs(*dst)
	f.apply = func() {
		if o.Set {
			*dst = o.Value
		}
	}
	return f
}

// Nullable returns a row whose value is stored as a pointer, and null as nil. It is
// logged as it is stored.
func Nullable[T any](attr string, o *optional.Value[T], dst **T, judge check.Func[T]) Row {
	f := Checked(attr, o, judge).LoggedAs(*dst)
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

// Default returns a row for a text of which null and "" stand for a default.
func Default(attr string, o *optional.Value[string], dst *string, otherwise string, judge check.Func[string]) Row {
	f := Checked(attr, o, judge).LoggedAs(*dst)
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

// List returns a row for a list, as read returns it.
func List[T any](attr string, o *optional.Value[json.RawMessage], dst *[]T, read func(attr string, o *optional.Value[json.RawMessage]) ([]T, error)) Row {
	f := Checked(attr, o, func(attr string, o *optional.Value[json.RawMessage]) error {
		if !o.Set {
			return nil
		}
		_, err := read(attr, o)
		return err
	}).LoggedAs(*dst)
	f.apply = func() {
		if o.Set {
			*dst, _ = read(attr, o) // which has been checked
		}
	}
	return f
}

// Time returns a row for a time, which may be null. Judge may be nil; it is not
// called for a time that was not sent or is null.
func Time(attr string, o *optional.Value[string], dst **time.Time, judge func(time.Time) error) Row {
	f := Checked(attr, o, func(attr string, o *optional.Value[string]) error {
		t, err := check.ReadTime(attr, o)
		if err == nil && t != nil && judge != nil {
			err = judge(*t)
		}
		return err
	}).LoggedAs(*dst)
	f.apply = func() {
		if o.Set {
			*dst, _ = check.ReadTime(attr, o) // which has been checked
		}
	}
	return f
}

// Logged returns a row for an attribute that no patch has.
func Logged(attr string, value any) Row { return Row{Attr: attr}.LoggedAs(value) }

// A Model is a value with a form of its own in the activity log. Nil stands for null.
type Model interface {
	JSON() json.RawMessage
}

// A Comparable is a value that may differ from another one of its type and say the
// same.
type Comparable interface {
	Same(other any) bool
}

// LoggedAs returns the row with a value for the activity log: a Model, JSON, or what
// encoding/json encodes. Values are compared before they are encoded.
func (f Row) LoggedAs(value any) Row {
	f.Logged, f.value = true, value
	return f
}

// Unlogged returns the row without a value for the activity log.
func (f Row) Unlogged() Row {
	f.Logged, f.value = false, nil
	return f
}

// ValueJSON returns the value of the thing.
func (f *Row) ValueJSON() json.RawMessage {
	switch v := f.value.(type) {
	case json.RawMessage:
		return rawjson.OrNull(v)
	case Model:
		return rawjson.OrNull(v.JSON())
	}
	return rawjson.Must(f.value)
}

// A Table is the attributes of a kind of thing, in the order in which they are checked
// and logged. It is made for one thing and one patch, to which its rows point.
type Table []Row

// Check returns the error of the first row that has one.
func (list Table) Check() error {
	for i := range list {
		if check := list[i].check; check != nil {
			if err := check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Apply applies what was sent to the thing, as far as the rows know how. What was
// sent has been checked.
func (list Table) Apply() {
	for i := range list {
		if apply := list[i].apply; apply != nil {
			apply()
		}
	}
}

// Differences returns what the activity log says of a change of a thing, from the
// tables before and after it. All empty values are equal (management.md §11.7).
func Differences(scope string, before, after Table) []Change {
	list := []Change{}
	for i := range before {
		if !before[i].Logged || reflect.DeepEqual(before[i].value, after[i].value) {
			continue
		}
		if v, ok := before[i].value.(Comparable); ok && v.Same(after[i].value) {
			continue
		}
		was, is := before[i].ValueJSON(), after[i].ValueJSON()
		action := "changed"
		switch created, deleted := rawjson.Empty(was), rawjson.Empty(is); {
		case created && deleted, bytes.Equal(was, is):
			continue
		case created:
			action = "created"
		case deleted:
			action = "deleted"
		}
		list = append(list, Change{scope, before[i].Attr, was, is, action})
	}
	return list
}

// Same reports whether a change of a thing has changed no logged value, not
// even an empty one to another.
func Same(before, after Table) bool {
	for i := range before {
		if before[i].Logged && !bytes.Equal(before[i].ValueJSON(), after[i].ValueJSON()) {
			return false
		}
	}
	return true
}

// A Change is an attribute that has changed, as the activity log keeps it. The log
// never has the value or the hash of a secret.
type Change struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Before any    `json:"before"`
	After  any    `json:"after"`
	Action string `json:"action"`
}

// A Detail is the member "detail" of an entry of the activity log (management.md
// §11.7): the name of the thing and what has changed of it.
type Detail struct {
	Name    string   `json:"name"`
	Changes []Change `json:"changes"`

	// Import is the import that has made the change, which can be taken back by it. Nil: none.
	Import *Import `json:"import,omitempty"`
}

// An Import is an import from another product, as entries of the activity log name it.
type Import struct {
	ID      string `json:"id"`
	Version int    `json:"version,omitempty"` // that the flag has then
}

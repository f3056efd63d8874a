package storage

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// LastCalledStep is by how much more than LastCalled says a flag must have been
// called later for stores to say so.
const LastCalledStep = 10 * time.Minute

// OtherCalls stands for all values, or SDKs, that are not counted by themselves.
const OtherCalls = "$other"

const (
	maxCallValue = 200 // bytes of a variant that is counted by itself
	maxCallSDK   = 100 // bytes of the name of an SDK that is counted by itself
)

// A FlagCall says that a client has reported the value of a flag.
type FlagCall struct {
	Event   int // its index among the events
	Project int64
	Key     string
	Value   string // JSON: true, false, a variant, a number, null if the client knows no value, or OtherCalls
	SDK     string // what the client calls itself, "" if it does not say so, or OtherCalls
	At      time.Time
}

// FlagCalls returns the calls that events are about, in their order. It is for stores,
// which set LastCalled of flags and count the calls. Times that lie in the future when
// the event comes are taken for now.
func FlagCalls(events []capture.Event) []FlagCall {
	var list []FlagCall
	var r callReader
	for i := range events {
		e := &events[i]
		if e.Name != "$feature_flag_called" {
			continue
		}
		call, ok := r.read(e)
		if !ok {
			continue
		}
		if list == nil {
			list = make([]FlagCall, 0, len(events)-i)
		}
		call.Event, call.Project, call.At = i, e.Project, e.Time
		if call.At.After(e.Received) {
			call.At = e.Received
		}
		list = append(list, call)
	}
	return list
}

// A callReader reads what events say about flags. It remembers texts, because events
// that come together have few different ones.
type callReader struct {
	keys, values, sdks map[string]string // by the JSON of the property; "" for a key that no flag can have
	buf                []byte
}

// read returns the flag that an event is about, its value and the SDK (wire.md §2.8). It
// reports false if no flag can have the key.
func (r *callReader) read(e *capture.Event) (call FlagCall, ok bool) {
	var key, value, sdk jsonscan.Value
	for o := jsonscan.Value(e.Properties).Object(); o.Next(); {
		switch string(o.Name()) {
		case "$feature_flag":
			key = o.Value()
		case "$feature_flag_response":
			value = o.Value()
		case "$lib":
			sdk = o.Value()
		}
	}
	call = FlagCall{
		Key:   r.known(&r.keys, key, r.key),
		Value: r.known(&r.values, value, r.value),
		SDK:   r.known(&r.sdks, sdk, r.sdk),
	}
	return call, call.Key != ""
}

func (r *callReader) known(list *map[string]string, v jsonscan.Value, read func(jsonscan.Value) string) string {
	s, ok := (*list)[string(v)]
	if !ok {
		if *list == nil {
			*list = make(map[string]string)
		}
		s = read(v)
		(*list)[string(v)] = s
	}
	return s
}

// text returns a text in JSON, false for what is not text.
func (r *callReader) text(v jsonscan.Value) (string, bool) {
	var ok bool
	r.buf, ok = v.AppendString(r.buf[:0])
	return string(r.buf), ok
}

func (r *callReader) key(v jsonscan.Value) string {
	key, ok := r.text(v)
	if !ok || len(key) > MaxFlagKey || strings.ContainsRune(key, 0) {
		return ""
	}
	return key
}

func (r *callReader) value(v jsonscan.Value) string {
	switch v.Kind() {
	case jsonscan.True, jsonscan.False:
		return string(v)
	case jsonscan.Null, jsonscan.Invalid: // Invalid: there is none
		return "null"
	case jsonscan.Number:
		if n, ok := v.Float(); ok && !math.IsInf(n, 0) {
			text, _ := json.Marshal(n) // one form for each number
			return string(text)
		}
	}
	variant, ok := r.text(v)
	if !ok || len(variant) > maxCallValue {
		variant = OtherCalls
	}
	return string(text.AppendQuoted(nil, variant))
}

func (r *callReader) sdk(v jsonscan.Value) string {
	sdk, ok := r.text(v)
	switch kind := v.Kind(); {
	case kind == jsonscan.Null || kind == jsonscan.Invalid:
		return ""
	case !ok || len(sdk) > maxCallSDK:
		return OtherCalls
	}
	return sdk
}

// A FlagCount says how often clients have reported one value of a flag on one day.
type FlagCount struct {
	Key   string          // of the flag
	Day   time.Time       // in UTC
	Value json.RawMessage // as in a [FlagCall]
	SDK   string          // as in a [FlagCall]
	Count int64
}

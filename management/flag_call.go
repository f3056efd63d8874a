package management

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// LastCalledStep is by how much more than LastCalled says a flag must have been
// called later for stores to say so.
const LastCalledStep = 10 * time.Minute

// A FlagCall says that a client has reported the value of a flag.
type FlagCall struct {
	Project int64
	Key     string
	At      time.Time
}

// FlagCalls returns the latest call of each flag that events are about, by project
// and key. It is for stores, which set LastCalled of those flags that exist. Times
// that lie in the future when the event comes are taken for now.
func FlagCalls(events []capture.Event) []FlagCall {
	type flag struct {
		project int64
		key     string
	}
	var latest map[flag]time.Time
	for i := range events {
		e := &events[i]
		if e.Name != "$feature_flag_called" {
			continue
		}
		key, ok := calledFlag(e)
		if !ok {
			continue
		}
		at := e.Time
		if at.After(e.Received) {
			at = e.Received
		}
		if latest == nil {
			latest = make(map[flag]time.Time)
		}
		f := flag{e.Project, key}
		if known, ok := latest[f]; !ok || at.After(known) {
			latest[f] = at
		}
	}
	list := make([]FlagCall, 0, len(latest))
	for f, at := range latest {
		list = append(list, FlagCall{f.project, f.key, at})
	}
	slices.SortFunc(list, func(a, b FlagCall) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), strings.Compare(a.Key, b.Key))
	})
	return list
}

// calledFlag returns the key of the flag that an event is about (wire.md §2.8).
// It reports false if no flag can have it.
func calledFlag(e *capture.Event) (key string, ok bool) {
	var text []byte
	for o := jsonscan.Value(e.Properties).Object(); o.Next(); {
		if string(o.Name()) == "$feature_flag" {
			text, _ = o.Value().AppendString(nil)
		}
	}
	key = string(text)
	return key, key != "" && len(key) <= maxFlagKey && !strings.ContainsRune(key, 0)
}

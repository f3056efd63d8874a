package sqldb

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	usageDays    = 400 // days before an event comes that are counted, and kept
	maxDayValues = 100 // values of a flag that are counted by themselves on a day
	maxDaySDKs   = 20  // SDKs that are counted by themselves for a flag on a day

	maxKnownUsage = 1 << 14 // rows that a process knows to be there
)

// otherValue is storage.OtherCalls as the value of a flag.
const otherValue = `"` + storage.OtherCalls + `"`

// A usageOf is what is counted together, in a row of flag_call.
type usageOf struct {
	project int64
	key     string
	day     int64 // since 1970
	value   string
	sdk     string
}

func (u usageOf) compare(v usageOf) int {
	return cmp.Or(cmp.Compare(u.project, v.project), strings.Compare(u.key, v.key), cmp.Compare(u.day, v.day),
		strings.Compare(u.value, v.value), strings.Compare(u.sdk, v.sdk))
}

// knownUsage has the rows that calls count in and that are stored, so that nearly every call
// costs no more than a change of its row.
type knownUsage = lru.Cache[usageOf, usageOf]

const dayLength = 24 * time.Hour

// dayOf returns the day of a time since 1970.
func dayOf(t time.Time) int64 { return t.Unix() / int64(dayLength/time.Second) }

// countCalls counts the calls of events that are fresh, nil for all, and not too old.
func countCalls(events []capture.Event, calls []storage.FlagCall, fresh []bool) map[usageOf]int64 {
	counts := make(map[usageOf]int64)
	for i := range calls {
		c := &calls[i]
		if (fresh == nil || fresh[c.Event]) && events[c.Event].Received.Sub(c.At) <= usageDays*dayLength {
			counts[usageOf{c.Project, c.Key, dayOf(c.At), c.Value, c.SDK}]++
		}
	}
	return counts
}

// addFlagUsage adds counts to the rows of flag_call. It returns the row in which each is counted.
// The transaction has the locks of the projects.
func (t *tx) addFlagUsage(ctx context.Context, counts map[usageOf]int64) (map[usageOf]usageOf, error) {
	in, fresh := make(map[usageOf]usageOf, len(counts)), make(map[int64][]usageOf)
	for u := range counts {
		if row, ok := t.db.usage.Get(u); ok {
			in[u] = row
		} else {
			fresh[u.project] = append(fresh[u.project], u)
		}
	}
	for project, list := range fresh {
		if err := t.admitUsage(ctx, project, list, in); err != nil {
			return nil, err
		}
	}
	rows := make(map[usageOf]int64, len(in))
	for u, row := range in {
		rows[row] += counts[u]
	}
	list := slices.SortedFunc(maps.Keys(rows), usageOf.compare)
	_, err := t.insert(ctx, "flag_call", []column{
		columnOf("project_id", list, func(u *usageOf) int64 { return u.project }),
		columnOf("flag_key", list, func(u *usageOf) string { return u.key }),
		columnOf("day", list, func(u *usageOf) int64 { return u.day }),
		columnOf("value", list, func(u *usageOf) string { return u.value }),
		columnOf("sdk", list, func(u *usageOf) string { return u.sdk }),
		columnOf("calls", list, func(u *usageOf) int64 { return rows[*u] }),
	}, "ON CONFLICT (project_id, flag_key, day, value, sdk) DO UPDATE SET calls = flag_call.calls + excluded.calls", nil)
	return in, err
}

// admitUsage finds the rows for calls of a project that may not be counted yet. Calls of keys
// that no flag has or had are left out, since clients can name any key; what is beyond the
// bounds of a day counts as other values, and other SDKs; and what is too old of these flags is
// deleted.
func (t *tx) admitUsage(ctx context.Context, project int64, list []usageOf, in map[usageOf]usageOf) error {
	slices.SortFunc(list, usageOf.compare)
	unknown := make(map[string]bool)
	first, last := list[0].day, list[0].day
	for _, u := range list {
		unknown[u.key] = true
		first, last = min(first, u.day), max(last, u.day)
	}
	var keys []string
	for _, deleted := range []bool{false, true} { // the index of keys has no flags that are deleted, and few are asked for
		query := "SELECT key FROM feature_flag WHERE project_id = ? AND deleted = " + strconv.FormatBool(deleted) + " AND key IN (?)"
		missing := slices.Sorted(maps.Keys(unknown))
		_, err := t.run(ctx, query, []any{project, missing}, eachValue(func(key string) {
			if unknown[key] {
				delete(unknown, key)
				keys = append(keys, key)
			}
		}))
		if err != nil {
			return err
		}
	}
	type onDay struct {
		key  string
		day  int64
		text string
	}
	values, sdks := make(map[onDay]bool), make(map[onDay]bool)
	seen := make(map[onDay]int)
	bounded := func(known map[onDay]bool, kind string, most int, u usageOf, text, other string) string {
		count := onDay{u.key, u.day, kind}
		switch at := (onDay{u.key, u.day, text}); {
		case known[at] || text == other:
		case seen[count] >= most:
			return other
		default:
			known[at] = true
			seen[count]++
		}
		return text
	}
	admit := func(u usageOf) usageOf {
		u.value = bounded(values, "value", maxDayValues, u, u.value, otherValue)
		u.sdk = bounded(sdks, "sdk", maxDaySDKs, u, u.sdk, storage.OtherCalls)
		return u
	}
	_, err := t.run(ctx, "SELECT flag_key, day, value, sdk FROM flag_call WHERE project_id = ? AND day >= ? AND day <= ? AND flag_key IN (?)",
		[]any{project, first, last, keys}, func(r *sql.Rows) error {
			u := usageOf{project: project}
			err := r.Scan(&u.key, &u.day, &u.value, &u.sdk)
			admit(u)
			return err
		})
	if err != nil {
		return err
	}
	for _, u := range list {
		if !unknown[u.key] {
			in[u] = admit(u)
		}
	}
	_, err = t.exec(ctx, "DELETE FROM flag_call WHERE project_id = ? AND day < ? AND flag_key IN (?)", project, last-usageDays, keys)
	return err
}

// FlagUsage implements [storage.Store].
func (a *accounts) FlagUsage(ctx context.Context, project int64, keys []string, since time.Time) ([]storage.FlagCount, error) {
	query, args := "SELECT flag_key, day, value, sdk, calls FROM flag_call WHERE project_id = ? AND day >= ? AND flag_key IN (?)",
		[]any{project, dayOf(since), keys}
	if keys == nil {
		query, args = "SELECT '', day, '', '', SUM(calls) FROM flag_call WHERE project_id = ? AND day >= ? GROUP BY day", args[:2]
	}
	list := []storage.FlagCount{}
	err := a.read(ctx, query, args, func(r *sql.Rows) error {
		var day int64
		var c storage.FlagCount
		var value string
		err := r.Scan(&c.Key, &day, &value, &c.SDK, &c.Count)
		c.Day = time.Unix(day*int64(dayLength/time.Second), 0).UTC()
		if keys != nil {
			c.Value = json.RawMessage(value)
		}
		list = append(list, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the usage of flags: %w", err)
	}
	slices.SortFunc(list, func(a, b storage.FlagCount) int { // databases sort texts in several ways
		return cmp.Or(a.Day.Compare(b.Day), strings.Compare(a.Key, b.Key), bytes.Compare(a.Value, b.Value), strings.Compare(a.SDK, b.SDK))
	})
	return list, nil
}

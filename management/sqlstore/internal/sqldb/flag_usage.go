package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Calls of flags are counted in the transaction that stores their events. To change a
// row for each flag there would cost as much as many of the events. So a transaction
// adds one row of flag_usage_part with all that it has counted, and every
// maxUsageParts transactions of a process one of them adds these rows up in flag_usage,
// a row of which has all counts of a flag in 32 days. Only one transaction at a time
// writes about a project, so nobody waits for a row, and no part is added twice.

const (
	maxUsageParts = 256      // rows of flag_usage_part that a process leaves behind
	maxUsageBytes = 96 << 10 // bytes of these rows

	usagePeriod  = 32  // days
	usageDays    = 400 // days before an event comes that are counted, and kept at least
	maxDayValues = 100 // values of a flag that are counted by themselves on a day
	maxDaySDKs   = 20  // SDKs that are counted by themselves for a flag on a day
)

// otherValue is storage.OtherCalls as the value of a flag.
const otherValue = `"` + storage.OtherCalls + `"`

// A usageOf is what is counted together.
type usageOf struct {
	key   string
	day   int64 // since 1970
	value string
	sdk   string
}

func (u usageOf) compare(v usageOf) int {
	return cmp.Or(strings.Compare(u.key, v.key), cmp.Compare(u.day, v.day), strings.Compare(u.value, v.value), strings.Compare(u.sdk, v.sdk))
}

type usageCounts map[usageOf]int64

const dayLength = 24 * time.Hour

// dayOf returns the day of a time since 1970.
func dayOf(t time.Time) int64 { return floorDiv(t.Unix(), int64(dayLength/time.Second)) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// countedCalls returns the calls of events that are counted, by project. Nearly always they
// are of one project, and all are counted.
func countedCalls(events []capture.Event, calls []storage.FlagCall) map[int64][]storage.FlagCall {
	if len(calls) == 0 {
		return nil
	}
	counts := func(c *storage.FlagCall) bool { return events[c.Event].Received.Sub(c.At) <= usageDays*dayLength }
	same := 0
	for same < len(calls) && calls[same].Project == calls[0].Project && counts(&calls[same]) {
		same++
	}
	list := make(map[int64][]storage.FlagCall)
	if same > 0 {
		list[calls[0].Project] = calls[:same:same]
	}
	for i := range calls[same:] {
		if c := &calls[same+i]; counts(c) {
			list[c.Project] = append(list[c.Project], *c)
		}
	}
	return list
}

// errUsage says that counts cannot be read.
var errUsage = errors.New("sqlstore: counts of flags are damaged")

// A usageEncoder writes counts: a day, the texts, and for each count the numbers of its
// key, value and SDK among the texts, the days after that day, and the count.
type usageEncoder struct {
	texts   []string
	numbers map[string]uint64
	day     int64
	counts  []byte
}

// An encodedUsage is a usageOf with the numbers of its texts.
type encodedUsage struct {
	key, value, sdk uint64
	days            int64 // after the encoder's
}

func (e *usageEncoder) number(s string) uint64 {
	n, ok := e.numbers[s]
	if !ok {
		n = uint64(len(e.texts))
		e.numbers[s] = n
		e.texts = append(e.texts, s)
	}
	return n
}

func (e *usageEncoder) encode(u usageOf) encodedUsage {
	if e.numbers == nil {
		e.numbers, e.day = make(map[string]uint64, 64), u.day
	}
	return encodedUsage{e.number(u.key), e.number(u.value), e.number(u.sdk), u.day - e.day}
}

func (e *usageEncoder) add(u encodedUsage, n int64) {
	e.counts = binary.AppendUvarint(e.counts, u.key)
	e.counts = binary.AppendUvarint(e.counts, u.value)
	e.counts = binary.AppendUvarint(e.counts, u.sdk)
	e.counts = binary.AppendVarint(e.counts, u.days)
	e.counts = binary.AppendUvarint(e.counts, uint64(n))
}

func (e *usageEncoder) bytes() []byte {
	b := binary.AppendVarint(nil, e.day)
	b = binary.AppendUvarint(b, uint64(len(e.texts)))
	for _, s := range e.texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return append(b, e.counts...)
}

func encodeCalls(calls []storage.FlagCall) []byte {
	var e usageEncoder
	counts := make(map[encodedUsage]int64)
	for i := range calls {
		counts[e.encode(usageOfCall(&calls[i]))]++
	}
	for u, n := range counts {
		e.add(u, n)
	}
	return e.bytes()
}

func usageOfCall(c *storage.FlagCall) usageOf { return usageOf{c.Key, dayOf(c.At), c.Value, c.SDK} }

func (c usageCounts) encode() []byte {
	var e usageEncoder
	for u, n := range c {
		e.add(e.encode(u), n)
	}
	return e.bytes()
}

// add adds the counts that b encodes. If one is true, it adds the counts of the key alone.
func (c usageCounts) add(b []byte, one bool, key string) error {
	bad := false
	next := func() uint64 {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			bad, b = true, nil
			return 0
		}
		b = b[n:]
		return x
	}
	first, n := binary.Varint(b)
	if n <= 0 {
		return errUsage
	}
	b = b[n:]
	many := next()
	if many > uint64(len(b)) {
		return errUsage
	}
	texts := make([]string, many)
	for i := range texts {
		size := next()
		if bad || size > uint64(len(b)) {
			return errUsage
		}
		texts[i], b = string(b[:size]), b[size:]
	}
	for len(b) > 0 {
		k, value, sdk := next(), next(), next()
		day, n := binary.Varint(b)
		if n <= 0 {
			return errUsage
		}
		b = b[n:]
		count := next()
		if bad || max(k, value, sdk) >= many {
			return errUsage
		}
		if !one || texts[k] == key {
			c[usageOf{texts[k], first + day, texts[value], texts[sdk]}] += int64(count)
		}
	}
	return nil
}

// merge adds counts of one flag to c. What is beyond the bounds of a day counts as
// other values, and other SDKs.
func (c usageCounts) merge(more usageCounts) {
	type onDay struct {
		day  int64
		text string
	}
	values, sdks := make(map[onDay]bool), make(map[onDay]bool)
	manyValues, manySDKs := make(map[int64]int), make(map[int64]int)
	note := func(seen map[onDay]bool, many map[int64]int, most int, day int64, text, other string) string {
		switch at := (onDay{day, text}); {
		case seen[at] || text == other:
		case many[day] >= most:
			return other
		default:
			seen[at] = true
			many[day]++
		}
		return text
	}
	bounded := func(u usageOf) usageOf {
		u.value = note(values, manyValues, maxDayValues, u.day, u.value, otherValue)
		u.sdk = note(sdks, manySDKs, maxDaySDKs, u.day, u.sdk, storage.OtherCalls)
		return u
	}
	for u := range c {
		bounded(u) // they are within the bounds
	}
	for _, u := range slices.SortedFunc(maps.Keys(more), usageOf.compare) {
		c[bounded(u)] += more[u]
	}
}

// A usageBacklog knows how much of flag_usage_part this process has not added up yet, by
// project. A project that is not in it is added up at once: an earlier process may have
// left something behind.
type usageBacklog struct {
	mu       sync.Mutex
	projects map[int64]usageParts
}

type usageParts struct{ rows, bytes int }

func (b *usageBacklog) due(project int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.projects[project]
	return !ok || p.rows >= maxUsageParts || p.bytes >= maxUsageBytes
}

// A storedPart is a part that a transaction has stored.
type storedPart struct {
	project int64
	bytes   int
	packed  bool // it was added up, with all parts before it
}

func (b *usageBacklog) stored(parts []storedPart) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.projects == nil {
		b.projects = make(map[int64]usageParts)
	}
	for _, p := range parts {
		if p.packed {
			b.projects[p.project] = usageParts{}
			continue
		}
		known := b.projects[p.project]
		b.projects[p.project] = usageParts{known.rows + 1, known.bytes + p.bytes}
	}
}

// addFlagUsage counts calls by project. The transaction has the locks of the projects.
func (t *tx) addFlagUsage(ctx context.Context, calls map[int64][]storage.FlagCall) ([]storedPart, error) {
	var parts []storedPart
	for _, project := range slices.Sorted(maps.Keys(calls)) {
		part := storedPart{project: project, packed: t.db.usage.due(project)}
		if part.packed {
			if err := t.packFlagUsage(ctx, project, calls[project]); err != nil {
				return nil, err
			}
		} else {
			b := encodeCalls(calls[project])
			part.bytes = len(b)
			_, err := t.exec(ctx, `INSERT INTO flag_usage_part (project_id, part, counts)
				SELECT ?, coalesce(max(part), 0) + 1, ? FROM flag_usage_part WHERE project_id = ?`, project, b, project)
			if err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// A usageRow is a row of flag_usage.
type usageRow struct {
	key    string
	period int64
}

// packFlagUsage adds to flag_usage what flag_usage_part has, and calls.
func (t *tx) packFlagUsage(ctx context.Context, project int64, calls []storage.FlagCall) error {
	more := make(usageCounts)
	for i := range calls {
		more[usageOfCall(&calls[i])]++
	}
	_, err := t.run(ctx, "SELECT counts FROM flag_usage_part WHERE project_id = ? ORDER BY part", []any{project}, func(r *sql.Rows) error {
		var b []byte
		if err := r.Scan(&b); err != nil {
			return err
		}
		return more.add(b, false, "")
	})
	if err != nil {
		return err
	}
	rows := make(map[usageRow]usageCounts)
	for u, n := range more {
		at := usageRow{u.key, floorDiv(u.day, usagePeriod)}
		if rows[at] == nil {
			rows[at] = make(usageCounts)
		}
		u.key = "" // it is in the row
		rows[at][u] += n
	}
	if err := t.mergeFlagUsage(ctx, project, rows); err != nil {
		return err
	}
	names := slices.SortedFunc(maps.Keys(rows), func(a, b usageRow) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.period, b.period))
	})
	_, err = t.insert(ctx, "flag_usage", []column{
		integers("project_id", names, func(*usageRow) int64 { return project }),
		texts("flag_key", names, func(r *usageRow) string { return r.key }),
		integers("period", names, func(r *usageRow) int64 { return r.period }),
		{"counts", "bytea", collect(names, func(r *usageRow) []byte { return rows[*r].encode() })},
	}, "ON CONFLICT (project_id, flag_key, period) DO UPDATE SET counts = excluded.counts", nil)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, "DELETE FROM flag_usage_part WHERE project_id = ?", project)
	return err
}

// mergeFlagUsage adds to rows what is stored of them. Rows of keys that no flag has are
// left out, since clients can name any key. A flag that is deleted is counted on, to
// show that clients still ask for it.
func (t *tx) mergeFlagUsage(ctx context.Context, project int64, rows map[usageRow]usageCounts) error {
	keys, first := make(map[string]bool), int64(0)
	for r := range rows {
		if len(keys) == 0 || r.period < first {
			first = r.period
		}
		keys[r.key] = true
	}
	stored := make(map[usageRow]bool)
	err := t.in(ctx, "SELECT flag_key, period, counts FROM flag_usage WHERE project_id = ? AND period >= ? AND flag_key IN (?)",
		[]any{project, first}, slice[string](slices.Sorted(maps.Keys(keys))), func(r *sql.Rows) error {
			var at usageRow
			var b []byte
			if err := r.Scan(&at.key, &at.period, &b); err != nil || stored[at] || rows[at] == nil {
				return err
			}
			stored[at] = true
			counts := make(usageCounts)
			if err := counts.add(b, false, ""); err != nil {
				return err
			}
			counts.merge(rows[at])
			rows[at] = counts
			return nil
		})
	if err != nil {
		return err
	}
	fresh := make(map[string]bool)
	for at, counts := range rows {
		if !stored[at] {
			fresh[at.key] = true
			rows[at] = make(usageCounts)
			rows[at].merge(counts)
		}
	}
	return t.admitKeys(ctx, project, fresh, rows)
}

// admitKeys removes rows of keys that no flag has or had, and deletes what is older than
// is kept of the others.
func (t *tx) admitKeys(ctx context.Context, project int64, fresh map[string]bool, rows map[usageRow]usageCounts) error {
	keys, unknown := slice[string](slices.Sorted(maps.Keys(fresh))), maps.Clone(fresh)
	for _, deleted := range []bool{false, true} { // the index of keys has no flags that are deleted, and few are asked for
		missing := slice[string](slices.Sorted(maps.Keys(unknown)))
		err := t.in(ctx, "SELECT key FROM feature_flag WHERE project_id = ? AND deleted = "+strconv.FormatBool(deleted)+" AND key IN (?)", []any{project}, missing, eachValue(func(key string) {
			delete(unknown, key)
		}))
		if err != nil {
			return err
		}
	}
	maps.DeleteFunc(rows, func(at usageRow, _ usageCounts) bool { return unknown[at.key] })
	if len(rows) == 0 {
		return nil
	}
	var newest int64
	for at := range rows {
		newest = max(newest, at.period) // clocks are not before 1970
	}
	oldest := newest - usageDays/usagePeriod - 1
	maps.DeleteFunc(rows, func(at usageRow, _ usageCounts) bool { return at.period < oldest })
	return t.in(ctx, "DELETE FROM flag_usage WHERE project_id = ? AND period < ? AND flag_key IN (?)", []any{project, oldest}, keys, nil)
}

// FlagUsage implements [storage.Flags]. One statement reads what is added up and
// what is not yet, so that it sees every call once.
func (a *accounts) FlagUsage(ctx context.Context, project int64, key string, since time.Time) ([]storage.FlagCount, error) {
	counts, parts := make(usageCounts), make(usageCounts)
	first := dayOf(since)
	err := a.read(ctx, `SELECT 0, counts FROM flag_usage WHERE project_id = ? AND flag_key = ? AND period >= ?
		UNION ALL SELECT part, counts FROM flag_usage_part WHERE project_id = ? ORDER BY 1`,
		[]any{project, key, floorDiv(first, usagePeriod), project}, func(r *sql.Rows) error {
			var part int64
			var b []byte
			if err := r.Scan(&part, &b); err != nil {
				return err
			}
			if part == 0 {
				return counts.add(b, false, "")
			}
			return parts.add(b, true, key)
		})
	if err != nil {
		return nil, fmt.Errorf("read the usage of a flag: %w", err)
	}
	more := make(usageCounts)
	for u, n := range parts {
		u.key = ""
		more[u] += n
	}
	counts.merge(more)
	maps.DeleteFunc(counts, func(u usageOf, _ int64) bool { return u.day < first })
	list := make([]storage.FlagCount, 0, len(counts))
	for _, u := range slices.SortedFunc(maps.Keys(counts), usageOf.compare) {
		day := time.Unix(u.day*int64(dayLength/time.Second), 0).UTC()
		list = append(list, storage.FlagCount{Day: day, Value: json.RawMessage(u.value), SDK: u.sdk, Count: counts[u]})
	}
	return list, nil
}

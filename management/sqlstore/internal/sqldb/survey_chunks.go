package sqldb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"math"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// To count a million events, and the persons that they belong to, a database
// would have to read a million rows and sort or hash them, which takes about
// ten times as long as counting them. So the events that count are stored a
// second time, in chunks of maxEntries. An entry has the kind of the event,
// its time, a hash of the person, and a hash of the event's UUID. A chunk is
// read in a microsecond or two, and is changed like a row when persons merge or
// when another event becomes the representative of its submission.

const (
	maxEntries = 128
	entrySize  = 24
)

// A hash has 61 bits of a longer hash; its three lowest bits are 0. Among ten
// million persons, two have the same hash with a probability of two in a
// hundred thousand. Nobody can choose a distinct ID that has the hash of
// another one.
type hash uint64

const noHash hash = 7 // the bits that hashes do not have

func hashBytes(b []byte) hash {
	sum := sha256.Sum256(b)
	return max(hash(binary.LittleEndian.Uint64(sum[:]))&^noHash, noHash+1) // 0 marks a free slot of respondents
}

func hashPerson(id uuid.UUID) hash { return hashBytes(id[:]) }

func hashEvent(id uuid.UUID) hash { return hashBytes(id[:]) }

// hashNobody returns the hash of a distinct ID without a person.
func hashNobody(id persons.DistinctID) hash {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 256), uint64(id.Project))
	return hashBytes(append(b, id.ID...))
}

// A chunkEntry is an event that counts.
type chunkEntry struct {
	who   hash
	kind  survey.EventKind // shown, dismissed or sent
	event hash
	at    int64 // in microseconds
}

// entryAt returns the first entry of b.
func entryAt(b []byte) chunkEntry {
	who := hash(binary.LittleEndian.Uint64(b))
	return chunkEntry{
		who & ^noHash, survey.EventKind(who & noHash),
		hash(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:])),
	}
}

func (e chunkEntry) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.who)|uint64(e.kind))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.event))
	return binary.LittleEndian.AppendUint64(dst, uint64(e.at))
}

// A surveyOf is a survey of a project. Other projects may use the same ID.
type surveyOf struct {
	project int64
	survey  uuid.UUID
}

// A chunk has some of the entries of a survey, in no order.
type chunk struct {
	id int64 // 0 if it is not stored yet
	surveyOf
	entries []byte
	changed bool
}

func (c *chunk) add(e chunkEntry) {
	c.entries, c.changed = e.append(c.entries), true
}

// remove removes one entry that is equal to e.
func (c *chunk) remove(e chunkEntry) {
	wanted := e.append(make([]byte, 0, entrySize))
	for i := 0; i < len(c.entries); i += entrySize {
		if bytes.Equal(c.entries[i:i+entrySize], wanted) {
			last := len(c.entries) - entrySize
			copy(c.entries[i:], c.entries[last:])
			c.entries, c.changed = c.entries[:last], true
			return
		}
	}
}

// move assigns entries to other persons.
func (c *chunk) move(to map[hash]hash) {
	for i := 0; i < len(c.entries); i += entrySize {
		e := entryAt(c.entries[i:])
		if who, ok := to[e.who]; ok {
			e.who = who
			e.append(c.entries[:i])
			c.changed = true
		}
	}
}

// extent returns the times of the first and the last entry, and the number of
// responses.
func (c *chunk) extent() (first, last, responses int64) {
	first, last = math.MaxInt64, math.MinInt64
	for b := c.entries; len(b) > 0; b = b[entrySize:] {
		e := entryAt(b)
		first, last = min(first, e.at), max(last, e.at)
		if e.kind == survey.Sent {
			responses++
		}
	}
	return first, last, responses
}

// chunks are the chunks that a transaction has read or created. Only one
// transaction at a time may change the chunks of a project.
type chunks struct {
	t      *tx
	all    []*chunk
	byID   map[int64]*chunk
	newest map[surveyOf]*chunk // nil if the survey has none
}

func newChunks(t *tx) *chunks {
	return &chunks{t: t, byID: make(map[int64]*chunk), newest: make(map[surveyOf]*chunk)}
}

// load reads chunks that are not loaded yet.
func (c *chunks) load(ctx context.Context, ids ...int64) error {
	return c.t.in(ctx, "SELECT id, project_id, survey_id, entries FROM survey_chunk WHERE id IN (?)", nil, slice[int64](ids), c.scan)
}

func (c *chunks) scan(r *sql.Rows) error {
	k := new(chunk)
	if err := r.Scan(&k.id, &k.project, &k.survey, &k.entries); err != nil {
		return err
	}
	if c.byID[k.id] == nil {
		c.byID[k.id] = k
		c.all = append(c.all, k)
	}
	return nil
}

// last returns the newest chunk of a survey, or nil.
func (c *chunks) last(ctx context.Context, s surveyOf) (*chunk, error) {
	if k, ok := c.newest[s]; ok {
		return k, nil
	}
	var id int64
	_, err := c.t.run(ctx, "SELECT id FROM survey_chunk WHERE project_id = ? AND survey_id = ? ORDER BY id DESC LIMIT 1", []any{s.project, s.survey},
		scanTo(&id))
	if err == nil && id != 0 {
		err = c.load(ctx, id)
	}
	c.newest[s] = c.byID[id]
	return c.byID[id], err
}

// add adds an entry and returns its chunk.
func (c *chunks) add(ctx context.Context, s surveyOf, e chunkEntry) (*chunk, error) {
	k, err := c.last(ctx, s)
	if err != nil {
		return nil, err
	}
	if k == nil || len(k.entries) >= maxEntries*entrySize {
		k = &chunk{surveyOf: s, entries: make([]byte, 0, entrySize)}
		c.all = append(c.all, k)
		c.newest[s] = k
	}
	k.add(e)
	return k, nil
}

// save writes the changes. After that, new chunks have IDs.
func (c *chunks) save(ctx context.Context) error {
	for _, k := range c.all {
		if !k.changed {
			continue
		}
		first, last, responses := k.extent()
		var err error
		switch {
		case k.id == 0:
			_, err = c.t.run(ctx, `INSERT INTO survey_chunk (project_id, survey_id, first_at, last_at, responses, entries)
				VALUES (?, ?, ?, ?, ?, ?) RETURNING id`, []any{k.project, k.survey, first, last, responses, k.entries},
				scanTo(&k.id))
		case len(k.entries) == 0:
			_, err = c.t.exec(ctx, "DELETE FROM survey_chunk WHERE id = ?", k.id)
		default:
			_, err = c.t.exec(ctx, "UPDATE survey_chunk SET first_at = ?, last_at = ?, responses = ?, entries = ? WHERE id = ?",
				first, last, responses, k.entries, k.id)
		}
		if err != nil {
			return err
		}
		k.changed = false
	}
	return nil
}

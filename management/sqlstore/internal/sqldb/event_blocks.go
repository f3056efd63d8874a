package sqldb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
)

// An index of events by time, name or distinct ID would make each event a third
// larger, and an index by distinct ID would have each event of a batch write
// another page. So events are looked up by blocks: a block is a run of
// blockEvents events in the order in which they were stored, with a Bloom filter
// that says what is not in it. Blocks take about a hundredth of the events'
// bytes, are made after the events and cost their writers nothing. A search reads
// the filters of blocks, the newest first, until it has enough: all of them take some
// ten milliseconds for a million events. And it reads the events of blocks that may
// have what it looks for.
const (
	blockEvents  = 512 // events in a block
	blocksAtOnce = 8   // blocks that a transaction makes; on SQLite, other writers wait for it
	bitsPerKey   = 10  // of a filter
	hashesPerKey = 7   // that is, a filter says "perhaps" wrongly for 1 key in 120
)

// A bloom is a Bloom filter over hashes of keys.
type bloom []byte

func newBloom(keys map[uint64]bool) bloom {
	b := make(bloom, (len(keys)*bitsPerKey+7)/8)
	for key := range keys {
		for i := range uint64(hashesPerKey) {
			bit := b.bit(key, i)
			b[bit/8] |= 1 << (bit % 8)
		}
	}
	return b
}

// has reports whether a key may be in the filter.
func (b bloom) has(key uint64) bool {
	if len(b) == 0 {
		return true // unknown
	}
	for i := range uint64(hashesPerKey) {
		if bit := b.bit(key, i); b[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

func (b bloom) bit(key, i uint64) uint64 { return (key + i*(key>>32|1)) % uint64(8*len(b)) }

// blockKey returns the key by which a block says that it has events of a project,
// with a name and with a distinct ID; "" stands for any.
func blockKey(project int64, name, distinctID string) uint64 {
	var h xxhash.Digest
	h.Reset()
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(project)))
	_, _ = h.WriteString(name)
	_, _ = h.Write([]byte{0}) // neither text contains this byte
	_, _ = h.WriteString(distinctID)
	return h.Sum64()
}

// A block is a row of event_block.
type block struct {
	first, last    int64 // IDs; no block has the IDs in between
	oldest, newest int64 // microseconds since 1970
	filter         bloom
}

// A settling tells which events of PostgreSQL can be put into blocks. A transaction
// that is still running may store an event whose ID is lower than the ID of an
// event that is stored already. So the last ID counts only when all transactions
// have ended that were running when it was read. The transactions that store
// events have a number of their own before they take IDs (see [tx.lock]).
type settling struct {
	last    int64 // the ID that was read last
	running int64 // no transaction with a lower number has to end any more
	settled int64 // no transaction adds events up to this ID
}

// Index implements [storage.Events]. Several processes may call it at once, and wait for each
// other.
func (db *DB) Index(ctx context.Context) (more bool, err error) {
	events, err1 := db.indexEvents(ctx)
	persons, err2 := db.indexPersons(ctx)
	return events || persons, errors.Join(err1, err2)
}

// indexEvents makes at most eight blocks in one transaction.
func (db *DB) indexEvents(ctx context.Context) (more bool, err error) {
	db.indexing.Lock()
	defer db.indexing.Unlock()
	most := int64(math.MaxInt64)
	if db.d.Postgres {
		if most, err = db.settle(ctx); err != nil {
			return false, fmt.Errorf("index events: %w", err)
		}
	}
	// Outside of the transaction first, so that nothing is written when there is nothing
	// to do.
	var last, end int64
	if _, err := db.one(ctx, []any{&end, &last}, "SELECT coalesce((SELECT max(last_id) FROM event_block), 0), coalesce((SELECT max(id) FROM event), 0)"); err != nil {
		return false, fmt.Errorf("index events: %w", err)
	}
	if min(last, most)-end < blockEvents {
		return false, nil
	}
	err = db.atomic(ctx, func(t *tx) error {
		if err := t.advisoryLock(ctx, blockLock, 0); err != nil {
			return err
		}
		blocks, err := t.nextBlocks(ctx, most)
		if err != nil {
			return err
		}
		more = len(blocks) == blocksAtOnce
		_, err = t.insert(ctx, "event_block", []column{
			columnOf("first_id", blocks, func(b *block) int64 { return b.first }),
			columnOf("last_id", blocks, func(b *block) int64 { return b.last }),
			columnOf("oldest", blocks, func(b *block) int64 { return b.oldest }),
			columnOf("newest", blocks, func(b *block) int64 { return b.newest }),
			columnOf("filter", blocks, func(b *block) []byte { return b.filter }),
		}, "", nil)
		return err
	})
	return more, wrap("index events", db.fail(err))
}

// settle returns the last ID up to which events can be put into blocks.
func (db *DB) settle(ctx context.Context) (int64, error) {
	var last, oldest, next int64
	_, err := db.one(ctx, []any{&last, &oldest, &next}, `SELECT coalesce((SELECT max(id) FROM event), 0),
		pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint`)
	if err != nil {
		return 0, err
	}
	s := &db.settling
	if oldest >= s.running { // true at the first time, when last is 0
		s.settled, s.last, s.running = s.last, last, next
		if oldest == next {
			s.settled = last // nothing is running
		}
	}
	return s.settled, nil
}

// nextBlocks reads the events after the last block, as far as they fill blocks.
func (t *tx) nextBlocks(ctx context.Context, most int64) (blocks []block, err error) {
	var end int64
	if _, err := t.run(ctx, "SELECT coalesce(max(last_id), 0) FROM event_block", nil, scanTo(&end)); err != nil {
		return nil, err
	}
	b, n, keys := block{first: end + 1}, 0, make(map[uint64]bool)
	_, err = t.run(ctx, "SELECT id, project_id, name, distinct_id, "+t.db.d.micros("ts")+" FROM event WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
		[]any{end, most, blocksAtOnce * blockEvents}, func(r *sql.Rows) error {
			var project, at int64
			var name, distinctID string
			if err := r.Scan(&b.last, &project, &name, &distinctID, &at); err != nil {
				return err
			}
			if n == 0 {
				b.oldest, b.newest = at, at
			}
			b.oldest, b.newest = min(b.oldest, at), max(b.newest, at)
			for _, key := range []uint64{
				blockKey(project, "", ""), blockKey(project, name, ""), blockKey(project, "", distinctID), blockKey(project, name, distinctID),
			} {
				keys[key] = true
			}
			if n++; n == blockEvents {
				b.filter = newBloom(keys)
				blocks = append(blocks, b)
				b, n = block{first: b.last + 1}, 0
				clear(keys)
			}
			return nil
		})
	return blocks, err
}

// micros returns the expression for a time in microseconds since 1970.
func (d *Dialect) micros(time string) string {
	if d.Postgres {
		return "(extract(epoch FROM " + time + ") * 1000000)::bigint"
	}
	return time
}

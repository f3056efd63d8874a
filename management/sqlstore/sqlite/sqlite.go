package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/flagstaff-go/flagstaff/internal/memlimit"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
)

// Memory is the path of a database that lives in memory until it is closed.
const Memory = ":memory:"

// memories counts the databases in memory, to name them.
var memories atomic.Int64

// Open opens the database in a file. It creates a missing file, with access for
// its owner only. The path can be [Memory]. The file must be on a local disk:
// SQLite's locks and its write-ahead log do not work over a network.
func Open(ctx context.Context, path string, o sqlstore.Options) (sqlstore.Storage, error) {
	if path == "" {
		return nil, errors.New("sqlite: path is empty; want a file name, or " + Memory + " for a database in memory")
	}
	readers := max(4, runtime.GOMAXPROCS(0)) + 1 // one for Watch
	writerCache, readerCache := cacheSizes(memlimit.Process(), readers)
	writer := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(10000)", "foreign_keys(1)", "journal_mode(WAL)", "synchronous(FULL)", writerCache,
		"wal_autocheckpoint(4000)", // pages, 16 MB: fewer copies of pages that change often
	}}
	reader := url.Values{"_pragma": {"busy_timeout(10000)", "query_only(1)", readerCache}}
	name := uri(path)
	dialect := sqldb.Dialect{Fault: fault, Lead: leader{path}.lead}
	if path == Memory {
		dialect.Lead = nil
		name = "file:/flagstaff-" + strconv.FormatInt(memories.Add(1), 10)
		writer = url.Values{"vfs": {"memdb"}, "_pragma": {"busy_timeout(10000)", "foreign_keys(1)"}}
		reader.Set("vfs", "memdb")
	} else if err := create(path, o.MustExist); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	writing, err := sql.Open("sqlite", name+"?"+writer.Encode())
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	reading, err := sql.Open("sqlite", name+"?"+reader.Encode())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), writing.Close())
	}
	// One connection is for transactions. The other one is for migrations, and
	// keeps a database in memory alive, which ends with its last connection.
	writing.SetMaxOpenConns(2)
	writing.SetMaxIdleConns(2)
	reading.SetMaxOpenConns(readers)
	reading.SetMaxIdleConns(readers)
	db, err := sqldb.New(ctx, reading, writing, dialect, o)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	return db, nil
}

// Inspect looks at the store in a file, and changes nothing: it makes no file, and no server
// that uses the store notices. It returns [sqlstore.ErrNoStore] if there is no store, and
// [sqlstore.ErrNewer] if a newer release has changed it. The extensions are those with which Open
// would be called.
func Inspect(ctx context.Context, path string, extensions ...sqlstore.Extension) (*sqlstore.State, error) {
	if path == "" || path == Memory {
		return nil, errors.New("sqlite: look at a store: want the name of a file")
	}
	if err := create(path, true); err != nil { // which it does not
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	options := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		// Nobody has the store open. SQLite would make files beside it to read it.
		options.Set("immutable", "1")
	}
	pool, err := sql.Open("sqlite", uri(path)+"?"+options.Encode())
	if err != nil {
		return nil, fmt.Errorf("sqlite: look at %s: %w", path, err)
	}
	state, err := sqldb.Inspect(ctx, pool, sqldb.Dialect{Fault: fault}, extensions...)
	if err != nil {
		return nil, fmt.Errorf("sqlite: look at %s: %w", path, err)
	}
	return state, nil
}

// cacheSizes returns the settings of the page caches of the connection that writes, and of
// each connection that reads, for a process that may have so many bytes of memory. SQLite's
// own default of 2 MB does not hold the inner pages of large indexes. The caches are not
// part of the Go heap, so they take an eighth of the memory at most, half of it for writing.
func cacheSizes(memory int64, readers int) (writer, reader string) {
	const mostWriter, mostReader = 64 << 20, 16 << 20                                             // bytes
	pragma := func(n int64) string { return "cache_size(-" + strconv.FormatInt(n>>10, 10) + ")" } // KiB
	return pragma(min(mostWriter, memory/16)), pragma(min(mostReader, memory/16/int64(readers)))
}

// The primary result codes of SQLite that matter for Fault.
const (
	busy       = 5
	tooBig     = 18
	constraint = 19
	mismatch   = 20

	foreignKey = constraint | 3<<8
)

func fault(err error) sqldb.Fault {
	switch code := codeOf(err); {
	case code == foreignKey:
		return sqldb.Reference
	case code&0xFF == constraint:
		return sqldb.Conflict
	case code&0xFF == tooBig, code&0xFF == mismatch:
		return sqldb.BadData
	}
	return sqldb.Unavailable
}

// codeOf returns the result code of an error, or 0 if it has none.
func codeOf(err error) int {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok {
		return 0
	}
	return coded.Code()
}

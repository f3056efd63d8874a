package jetstream

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// DefinitionsConfig configures [Definitions]. Only Conn is required.
type DefinitionsConfig struct {
	// Conn is the connection to NATS. The caller closes it.
	Conn *nats.Conn

	// Bucket is the name of the key-value bucket. Zero: "flagstaff-definitions".
	Bucket string

	// Key is the key of the document in the bucket, one for each project or
	// environment. Zero: "default".
	Key string

	// Replicas is on how many servers of a cluster a new bucket is. It does not
	// change an existing one. Zero: 1.
	Replicas int
}

// Definitions is a definitions document (see [flags.Decode]) in a key-value bucket,
// which many processes follow. It is a [source.Source] and safe for concurrent use.
type Definitions struct {
	key    string
	bucket jetstream.KeyValue
	conn   *nats.Conn
}

var _ source.Source = (*Definitions)(nil)

var keyRule = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// maxDefinitions is how many bytes a document may have after decompression.
const maxDefinitions = 256 << 20

// OpenDefinitions returns the document of the config's key. It creates the bucket
// unless it exists. The document may be missing yet.
func OpenDefinitions(ctx context.Context, c DefinitionsConfig) (*Definitions, error) {
	c.Bucket, c.Key = cmp.Or(c.Bucket, "flagstaff-definitions"), cmp.Or(c.Key, "default")
	switch {
	case c.Conn == nil:
		return nil, errors.New("jetstream: DefinitionsConfig.Conn is missing")
	case !nameRule.MatchString(c.Bucket):
		return nil, fmt.Errorf("jetstream: DefinitionsConfig.Bucket is %q, want 1 to 64 letters, digits, - and _", c.Bucket)
	case !keyRule.MatchString(c.Key):
		return nil, fmt.Errorf("jetstream: DefinitionsConfig.Key is %q, want letters, digits, - and _, with single dots between", c.Key)
	case c.Replicas < 0 || c.Replicas > 5:
		return nil, fmt.Errorf("jetstream: DefinitionsConfig.Replicas is %d, want 1 to 5, or 0 for the default", c.Replicas)
	}
	js, err := newContext(c.Conn)
	if err != nil {
		return nil, err
	}
	bucket, err := openBucket(ctx, js, jetstream.KeyValueConfig{
		Bucket:      c.Bucket,
		Description: "Definitions of flags",
		History:     5, // so that an operator can see what was changed
		Replicas:    cmp.Or(c.Replicas, 1),
	})
	if err != nil {
		return nil, err
	}
	return &Definitions{key: c.Key, bucket: bucket, conn: c.Conn}, nil
}

// Put replaces the document and returns its version, as Load does. It refuses a
// document that cannot be decoded. Problems of single flags are reported where the
// document is loaded, as with any other source.
func (d *Definitions) Put(ctx context.Context, document []byte) (version string, err error) {
	if _, err := flags.Decode(bytes.NewReader(document)); err != nil {
		return "", fmt.Errorf("jetstream: definitions: %w", err)
	}
	var value bytes.Buffer
	z := gzip.NewWriter(&value)
	_, err = z.Write(document)
	if err := errors.Join(err, z.Close()); err != nil {
		return "", fmt.Errorf("jetstream: definitions: %w", err)
	}
	ctx, stop := whileConnected(ctx, d.conn)
	defer stop()
	revision, err := d.bucket.Put(ctx, d.key, value.Bytes())
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return "", fmt.Errorf("jetstream: definitions have %d bytes when compressed, more than NATS takes at once: %d; raise max_payload", value.Len(), d.conn.MaxPayload())
	case err != nil:
		return "", d.fail(causeOf(ctx, err))
	}
	return formatRevision(revision), nil
}

func formatRevision(revision uint64) string { return strconv.FormatUint(revision, 10) }

// Load implements [source.Source].
func (d *Definitions) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	ctx, stop := whileConnected(ctx, d.conn)
	defer stop()
	entry, err := d.bucket.Get(ctx, d.key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, "", fmt.Errorf("jetstream: bucket %q has no definitions under %q yet", d.bucket.Bucket(), d.key)
	}
	if err != nil {
		return nil, "", d.fail(causeOf(ctx, err))
	}
	version := formatRevision(entry.Revision())
	if version == have {
		return nil, version, source.ErrNotModified
	}
	z, err := gzip.NewReader(bytes.NewReader(entry.Value()))
	if err != nil {
		return nil, "", d.foreign(err)
	}
	document, err := io.ReadAll(io.LimitReader(z, maxDefinitions+1))
	if err == nil && len(document) > maxDefinitions {
		err = fmt.Errorf("more than %d bytes", maxDefinitions)
	}
	if err != nil {
		return nil, "", d.foreign(err)
	}
	definitions, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		return nil, "", d.fail(err)
	}
	return definitions, version, nil
}

// foreign is the error for a value that Put has not written.
func (d *Definitions) foreign(err error) error {
	return fmt.Errorf("jetstream: bucket %q has a value under %q that is not a compressed document: %w", d.bucket.Bucket(), d.key, err)
}

func (d *Definitions) fail(err error) error {
	return fmt.Errorf("jetstream: definitions in bucket %q under %q: %w", d.bucket.Bucket(), d.key, err)
}

// Watch calls changed when it has begun to watch, and then soon after each change,
// until ctx ends; then it returns nil. It hears nothing while the connection is
// lost, and calls changed when the connection is back. Calls do not overlap. It
// returns an error if it cannot begin, or if the connection is closed.
func (d *Definitions) Watch(ctx context.Context, changed func()) error {
	for begun := false; ; {
		err := awaitConnection(ctx, d.conn)
		if err == nil {
			err = d.watch(ctx, func() {
				begun = true
				changed()
			})
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case !begun, errors.Is(err, nats.ErrConnectionClosed):
			return d.fail(err)
		}
		// A server that has just started may not answer yet.
		if sleep(ctx, jitter(watchPause)) != nil {
			return nil
		}
	}
}

// watchPause is the time between attempts to watch.
const watchPause = 100 * time.Millisecond

// watch is Watch for one connection.
func (d *Definitions) watch(ctx context.Context, changed func()) error {
	ctx, stop := whileConnected(ctx, d.conn)
	defer stop()
	// The client would notice a new connection by itself, but only after a while.
	watcher, err := d.bucket.Watch(ctx, d.key, jetstream.UpdatesOnly(), jetstream.MetaOnly())
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Stop() }() // it has ended with the connection
	changed()
	for {
		select {
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return nats.ErrDisconnected
			case entry != nil && entry.Operation() == jetstream.KeyValuePut:
				changed()
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

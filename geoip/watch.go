package geoip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"
)

// settled is how long a file must look the same until its content is taken to be
// complete and the latest. File systems round times of modification, the
// coarsest one in use (FAT) to two seconds, and within that time a change may
// leave the file looking the same.
const settled = 2 * time.Second

// ErrClosed is what Refresh returns after Close.
var ErrClosed = errors.New("geoip: resolver is closed")

// errSettling means that the file has changed too recently to be read.
var errSettling = errors.New("geoip: file is being changed")

// seen is what the last check found on disk, be it good or bad. The zero value
// stands for no check yet.
type seen struct {
	info  fs.FileInfo
	since time.Time // when the file was first seen like this
	sure  bool      // the file had settled when it was read
	err   error     // why its content could not be loaded
}

// Watch checks the file at once and then after each interval, and loads new
// versions. It blocks until ctx ends or the Resolver is closed, and then returns
// nil. Errors of the file are logged and do not end it. An interval of zero or
// less means a minute.
func (r *Resolver) Watch(ctx context.Context, every time.Duration) error {
	if r == nil {
		<-ctx.Done()
		return nil
	}
	if every <= 0 {
		every = time.Minute
	}
	logged := ""
	for {
		pause := every
		err := r.check(true)
		switch {
		case ctx.Err() != nil || errors.Is(err, ErrClosed):
			return nil
		case errors.Is(err, errSettling):
			pause = min(every, settled)
		case err == nil:
			logged = ""
		case err.Error() != logged:
			logged = err.Error()
			r.options.Log.ErrorContext(ctx, "GeoIP database cannot be loaded; the last good one stays", "error", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.closed:
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// Refresh checks the file now, and returns when a new version is loaded or when
// there is none. It waits for a check that is under way. Unlike Watch it does
// not wait until a file is left alone: call it when the file is written. After
// an error the last good version stays in service.
func (r *Resolver) Refresh() error {
	if r == nil {
		return nil
	}
	return r.check(false)
}

// check loads the file if it has changed. A patient check leaves a file alone
// that has not settled, and returns errSettling.
func (r *Resolver) check(patient bool) error {
	r.checking.Lock()
	defer r.checking.Unlock()
	if r.isClosed() {
		return ErrClosed
	}
	err := r.checkLocked(patient)
	if errors.Is(err, errSettling) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Err = err
	if err == nil {
		r.status.Checked = time.Now()
	}
	return err
}

func (r *Resolver) checkLocked(patient bool) error {
	info, err := statFile(r.path)
	if err != nil {
		return err
	}
	now := time.Now()
	if r.seen.info == nil || !sameFile(r.seen.info, info) {
		r.seen = seen{info: info, since: now}
	}
	if r.seen.sure {
		return r.seen.err
	}
	calm := now.Sub(r.seen.since) >= settled
	if patient && !calm {
		return errSettling
	}
	content, err := readFile(r.path, info)
	if err != nil {
		return err
	}
	r.seen.sure, r.seen.err = calm, r.load(content)
	return r.seen.err
}

// load puts a new version of the file into service.
func (r *Resolver) load(content []byte) error {
	old := r.file.Load()
	if old != nil && bytes.Equal(content, old.content) {
		return nil
	}
	f, err := newFile(content, r.options.CacheSize)
	if err != nil {
		return fmt.Errorf("geoip: %s %w", r.path, err)
	}
	r.file.Store(f)

	m := &f.reader.Metadata
	r.mu.Lock()
	r.status.Type, r.status.Built, r.status.Loaded = m.DatabaseType, m.BuildTime(), time.Now()
	r.mu.Unlock()
	r.options.Log.Info("GeoIP database loaded", "path", r.path, "type", m.DatabaseType, "built", m.BuildTime())
	return nil
}

// statFile describes the regular file at a path.
func statFile(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("geoip: %w", err)
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, fmt.Errorf("geoip: %s is not a regular file", path)
	}
	return info, nil
}

// sameFile reports whether two looks at a path saw the same file, unchanged.
func sameFile(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// readFile returns the content of the file that info describes. It fails if the
// path leads to another file by now, or if the file changes meanwhile.
func readFile(path string, info fs.FileInfo) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("geoip: %w", err)
	}
	defer f.Close()
	if info.Size() > math.MaxInt {
		return nil, fmt.Errorf("geoip: %s is too large for this machine", path)
	}
	content := make([]byte, info.Size())
	_, err = io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("geoip: %w", err)
	}
	after, statErr := f.Stat()
	if statErr != nil {
		return nil, fmt.Errorf("geoip: %w", statErr)
	}
	if err != nil || !sameFile(info, after) {
		return nil, fmt.Errorf("geoip: %s changed while it was read; it is tried again", path)
	}
	return content, nil
}

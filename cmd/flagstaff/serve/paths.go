package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

// checkNewFile returns an error unless a file can be made at a path: its folder must be one in
// which files can be made. A file is made there for a moment, because nothing else tells for
// certain, and nothing is left behind.
func checkNewFile(path, folder string) error {
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot be made: %w", path, err)
	case !info.IsDir():
		return fmt.Errorf("%s cannot be made: %s is not a folder", path, folder)
	}
	f, err := os.CreateTemp(folder, ".flagstaff-*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // without the name, which is a random one
		}
		return fmt.Errorf("%s cannot be made, because the program cannot write into %s: %w", path, folder, err)
	}
	return nil
}

// checkFirstKeys returns an error if a first start, should this be one, could not make the
// file of -first-keys. It is to be asked before a store is made: keys are told only once.
func (s *settings) checkFirstKeys(ctx context.Context) error {
	if s.firstKeys == "" || s.demo {
		return nil
	}
	if s.store != sqlite.Memory {
		if state, err := database.Inspect(ctx, s.store); !errors.Is(err, sqlstore.ErrNoStore) && (err != nil || len(state.ProjectKeys) > 0) {
			return nil // no first start, or none at all, as opening the store says
		}
	}
	if _, err := os.Lstat(s.firstKeys); err == nil {
		return fmt.Errorf("the file of -first-keys: %s exists, and a first start makes a new one", s.firstKeys)
	}
	if err := checkNewFile(s.firstKeys, filepath.Dir(s.firstKeys)); err != nil {
		return fmt.Errorf("the file of -first-keys: %w", err)
	}
	return nil
}

// checkMailDir returns an error unless mails can be written into the folder of -mail-dir,
// which a start makes, with the ones above it.
func (s *settings) checkMailDir() error {
	folder := filepath.Clean(s.mailDir)
	for {
		_, err := os.Stat(folder)
		above := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || above == folder {
			break
		}
		folder = above
	}
	if err := checkNewFile(s.mailDir, folder); err != nil {
		return fmt.Errorf("the folder of -mail-dir: %w", err)
	}
	return nil
}

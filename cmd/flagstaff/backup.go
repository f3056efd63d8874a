package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/keyfile"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// storeFlags are the flags of commands that copy an SQLite store with its keys.
type storeFlags struct {
	store, keys string
	withoutKeys bool
}

func (s *storeFlags) flags(keys, withoutKeys string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "store", Usage: "the SQLite file `STORE` (default FLAGSTAFF_STORE, or " + database.Default + ")", Destination: &s.store},
		&cli.StringFlag{Name: "secret-key-file", Usage: "the `FILE` with the keys that encrypt secrets of the store (default FLAGSTAFF_SECRET_KEY_FILE, or " + keys + ")", Destination: &s.keys},
		&cli.BoolFlag{Name: "without-keys", Usage: withoutKeys, Destination: &s.withoutKeys},
	}
}

// keyFile returns the file with keys that a flag or the environment names, or "".
func (p *program) keyFile(given *storeFlags) string {
	return cmp.Or(given.keys, p.Getenv("FLAGSTAFF_SECRET_KEY_FILE"))
}

// sqliteStore returns the file of the store.
func (p *program) sqliteStore(given string) (string, error) {
	store := p.store(given)
	if err := database.Check(store); err != nil {
		return "", tool.WrongUsage("%w", err)
	}
	switch {
	case database.IsPostgres(store):
		return "", fmt.Errorf("the store is %s, which pg_dump and pg_restore copy", database.Name(store))
	case store == sqlite.Memory:
		return "", errors.New("the store is in memory, of which there is no copy")
	}
	return store, nil
}

// withStore runs f with the store that is meant and the FILE that is given.
func (p *program) withStore(given *storeFlags, f func(ctx context.Context, store, file string, given *storeFlags) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		args, err := tool.WantArgs(cmd, "FILE")
		if err != nil {
			return err
		}
		store, err := p.sqliteStore(given.store)
		if err != nil {
			return err
		}
		return f(ctx, store, args[0], given)
	}
}

// backupCommand copies a store.
func (p *program) backupCommand() *cli.Command {
	var given storeFlags
	return &cli.Command{
		Name:      "backup",
		Category:  tool.OfServer,
		Usage:     "copy an SQLite store and its keys, while the server runs",
		UsageText: tool.ProgramName + " backup [-store STORE] FILE",
		Description: `Backup copies the store to FILE, as it is at one moment, and the keys that encrypt its
secrets to FILE.key. Only their owner can read the copies. Backup checks that the copy is
sound and waits until it is on the disk. It never overwrites a file. Whoever has both
files can read all secrets: keep them apart, or encrypt them.

A store in PostgreSQL is for pg_dump.

Examples:

	flagstaff backup flagstaff-$(date +%F).db
	flagstaff backup -store /var/lib/flagstaff/flagstaff.db /backup/flagstaff.db`,
		Flags:  given.flags("the name of the store with "+keyfile.Suffix+" added", "copy the store alone: its keys are kept elsewhere"),
		Action: p.withStore(&given, p.backup),
	}
}

func (p *program) backup(ctx context.Context, store, to string, given *storeFlags) error {
	if _, err := os.Stat(store); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store in %s: name another one with -store", store)
	}
	var keys []byte
	if !given.withoutKeys {
		path := cmp.Or(p.keyFile(given), store+keyfile.Suffix)
		if _, err := keyfile.Read(path); err != nil {
			return fmt.Errorf("read the keys of the store: %w: name their file with -secret-key-file, or copy the store alone with -without-keys", err)
		}
		var err error
		if keys, err = os.ReadFile(path); err != nil {
			return err
		}
		if _, err := os.Stat(to + keyfile.Suffix); err == nil {
			return fmt.Errorf("%s%s exists, and is not overwritten", to, keyfile.Suffix)
		}
	}
	stop := p.Progress(sizeOf("copied", to+".partial"))
	err := sqlite.Backup(ctx, store, to)
	stop()
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is not overwritten: %w", to, err)
	}
	if err != nil {
		return err
	}
	if keys != nil {
		if err := keyfile.Write(to+keyfile.Suffix, keys); err != nil {
			return errors.Join(fmt.Errorf("copy the keys: %w", err), os.Remove(to))
		}
		return p.Print("the store %s is copied to %s, and its keys to %s%s", store, to, to, keyfile.Suffix)
	}
	return p.Print("the store %s is copied to %s, without keys", store, to)
}

// sizeOf returns the function that says how large a file has become.
func sizeOf(done, path string) func() string {
	return func() string {
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%s %.1f MB", done, float64(info.Size())/1e6)
	}
}

// restoreCommand makes a store of a copy.
func (p *program) restoreCommand() *cli.Command {
	var given storeFlags
	return &cli.Command{
		Name:      "restore",
		Category:  tool.OfServer,
		Usage:     "make a store of a copy that backup has made",
		UsageText: tool.ProgramName + " restore [-store STORE] FILE",
		Description: `Restore copies FILE to the store, and FILE.key to the keys of the store. Before anybody
can use the store, it checks that the copy is sound, brings its schema up to date, and
makes sure that the keys can read all secrets in it. It never overwrites a store: move
the old one out of the way, with the files beside it whose names begin with its name.

Examples:

	flagstaff restore flagstaff-2026-11-01.db
	flagstaff restore -store /var/lib/flagstaff/flagstaff.db /backup/flagstaff.db`,
		Flags:  given.flags("FILE"+keyfile.Suffix+", which becomes the file beside the store", "restore the store alone, although secrets in it may be lost for good"),
		Action: p.withStore(&given, p.restore),
	}
}

func (p *program) restore(ctx context.Context, store, from string, given *storeFlags) (err error) {
	beside, named := store+keyfile.Suffix, p.keyFile(given)
	for _, path := range []string{store, store + "-wal", store + "-journal", beside} {
		if path == beside && (named != "" || given.withoutKeys) {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%s exists, and is not overwritten: move it out of the way, or name another store with -store", path)
		}
	}
	var keys [][]byte
	var content []byte // of the file beside the store, nil if that is not made
	if !given.withoutKeys {
		path := cmp.Or(named, from+keyfile.Suffix)
		if keys, err = keyfile.Read(path); err != nil {
			return fmt.Errorf("read the keys of the copy: %w: name their file with -secret-key-file", err)
		}
		if named == "" {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
	}
	// The store gets its name when all is well.
	folder, err := os.MkdirTemp(filepath.Dir(store), ".flagstaff-restore-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	unchecked := filepath.Join(folder, "store.db")
	stop := p.Progress(sizeOf("restored", unchecked+".partial"))
	err = sqlite.Backup(ctx, from, unchecked)
	stop()
	if err != nil {
		return err
	}
	if err := checkCopy(ctx, unchecked, keys, given.withoutKeys); err != nil {
		return fmt.Errorf("%s is not restored: %w", from, err)
	}
	if content != nil {
		if err := keyfile.Write(beside, content); err != nil {
			return fmt.Errorf("copy the keys: %w", err)
		}
	}
	// Checking has changed the file, and has closed it in one piece.
	if err := sqlite.Backup(ctx, unchecked, store); err != nil {
		if content != nil {
			err = errors.Join(err, os.Remove(beside))
		}
		return err
	}
	return p.Print("the store %s is restored from %s; start the server on it", store, from)
}

// checkCopy opens a copy as the server does, and makes sure that the keys can read its
// secrets.
func checkCopy(ctx context.Context, path string, keys [][]byte, withoutKeys bool) (err error) {
	store, err := database.Open(ctx, path, sqlstore.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	lost, err := storage.UnreadableSecrets(ctx, store, keys)
	if err == nil && lost > 0 && !withoutKeys {
		err = fmt.Errorf("%d authenticators, backup codes and payloads in it were encrypted with none of the keys: name the right file with -secret-key-file, or give them up with -without-keys", lost)
	}
	return err
}

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestBackup copies a store while it is written to. The copy has what was written
// before, and is a store.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "a b.db"), filepath.Join(dir, "copy?.db")
	store, err := sqlite.Open(t.Context(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := management.Bootstrap(t.Context(), store, management.First{APIKey: "phc_a", Owner: "a@example.com"}); err != nil {
		t.Fatal(err)
	}
	organizations, err := store.Organizations().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			p := storage.NewProject(&organizations[0], fmt.Sprint("p", n))
			if err := store.Projects().Create(t.Context(), p); err != nil {
				t.Error(err)
				return
			}
		}
	})
	err = sqlite.Backup(t.Context(), path, to)
	stop()
	writer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v, %v; want 0600", info.Mode(), err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*partial*"))
	if err != nil || len(files) > 0 {
		t.Errorf("left behind: %q, %v", files, err)
	}
	copied, err := sqlite.Open(t.Context(), to, sqlstore.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if _, err := copied.Projects().Get(t.Context(), storage.ProjectKey.Is("phc_a")); err != nil {
		t.Errorf("the project is not in the copy: %v", err)
	}
	if err := sqlite.Backup(t.Context(), path, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second backup to one file: %v, want fs.ErrExist", err)
	}
}

func TestBackupRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := file("text.db", strings.Repeat("This is not a database.\n", 1000))
	to := filepath.Join(dir, "to.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		path, to string
		want     string
	}{
		{"no database", t.Context(), text, to, "sqlite: back up DIR/text.db: file is not a database (26)"},
		{"nothing", t.Context(), filepath.Join(dir, "none.db"), to, "sqlite: back up: stat DIR/none.db: no such file or directory"},
		{"a folder", t.Context(), dir, to, "sqlite: back up: DIR is a folder, want a file"},
		{"to a folder", t.Context(), text, dir, "sqlite: back up: DIR is a folder, want a file"},
		{"to no folder", t.Context(), text, filepath.Join(dir, "none", "to.db"), "sqlite: back up: open DIR/none/to.db.partial: no such file or directory"},
		{"to a file", t.Context(), text, text, "sqlite: back up: create DIR/text.db: file already exists"},
		{"memory", t.Context(), sqlite.Memory, to, "sqlite: back up: want the names of two files"},
		{"another one runs", t.Context(), text, strings.TrimSuffix(file("run.db.partial", ""), ".partial"), "sqlite: back up: open DIR/run.db.partial: file exists: it is from another backup that still runs, or was interrupted; remove it in the second case"},
		{"interrupted", ctx, text, to, "sqlite: back up DIR/text.db: context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := sqlite.Backup(tt.ctx, tt.path, tt.to)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(err.Error(), dir, "DIR")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if _, err := os.Stat(to); err == nil {
				t.Error("there is a copy")
			}
			if _, err := os.Stat(to + ".partial"); err == nil {
				t.Error("a part of a copy is left behind")
			}
		})
	}
}

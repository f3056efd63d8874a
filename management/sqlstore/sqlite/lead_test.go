package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

// leaderFile tells a process of this test binary to lead until it is killed.
const leaderFile = "FLAGSTAFF_TEST_LEADER_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(leaderFile); path != "" {
		fmt.Println(leadForever(path))
		return
	}
	os.Exit(m.Run())
}

func leadForever(path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	led, err := db.Lead(ctx, "work", func(context.Context) error {
		fmt.Println("leading")
		_, err := os.Stdin.Read(make([]byte, 1)) // until the end of the input
		return err
	})
	return errors.Join(err, fmt.Errorf("led: %v", led))
}

// TestLeadOfAnotherProcess checks that only one process leads, and that killing
// it lets another one lead.
func TestLeadOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd #%3F name?.db")
	db := open(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	try := func(name string, wanted bool) {
		t.Helper()
		if led, err := db.Lead(ctx, name, func(context.Context) error { return nil }); led != wanted || err != nil {
			t.Errorf("Lead(%q) = %v, %v; want %v", name, led, err, wanted)
		}
	}
	try("work", true)
	for range 2 {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), leaderFile+"="+path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "leading\n" || err != nil {
			t.Fatalf("the other process says %q, %v", line, err)
		}
		for range 3 {
			try("work", false)
			try("other work", true)
			open(t, path) // opening looks at the files
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the other process has ended by itself")
		}
		_ = in.Close()
		try("work", true)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*-lead-*"))
	if err != nil || len(files) != 2 {
		t.Errorf("files %v, %v; want one for each name", files, err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || info.Size() != 0 {
			t.Errorf("%s has mode %o and %d bytes, want 600 and none", filepath.Base(name), info.Mode().Perm(), info.Size())
		}
	}
}

func TestLeadFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	if err := os.Mkdir(path+"-lead-work", 0o700); err != nil {
		t.Fatal(err)
	}
	led, err := db.Lead(t.Context(), "work", func(context.Context) error { t.Error("it runs"); return nil })
	if led || err == nil {
		t.Errorf("Lead without a file to lock = %v, %v; want false and an error", led, err)
	}
}

// TestLocksSurviveOpening opens a file twice in one process, and checks from
// another process that the first one keeps its locks.
func TestLocksSurviveOpening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	_, err := db.Lead(t.Context(), "work", func(ctx context.Context) error {
		again := open(t, path)
		if led, err := again.Lead(ctx, "work", func(context.Context) error { return nil }); led || err != nil {
			t.Errorf("Lead of the second = %v, %v; want false, nil", led, err)
		}
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), leaderFile+"="+path)
		out, err := cmd.Output() // its standard input ends at once
		if string(out) != "led: false\n" {
			t.Errorf("the other process says %q, %v; want that it did not lead", out, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

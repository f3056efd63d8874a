package mail_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/mail"
)

// openDir returns a mailer and the folder that it has created.
func openDir(t *testing.T) (*mail.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mails", "out")
	d, err := mail.OpenDir(path, options)
	if err != nil {
		t.Fatal(err)
	}
	return d, path
}

// files returns the names of the files in a folder, sorted.
func files(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return // Windows has no permission bits
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("mode of %s = %v, want %v", path, got, want)
	}
}

func TestDir(t *testing.T) {
	d, path := openDir(t)
	checkMode(t, path, 0o700)
	second := management.Message{
		To: "jörg@example.org", Subject: "Überlang " + strings.Repeat("确认 ", 60) + "Ende", Kind: "../../etc/Päss wörd" + strings.Repeat("x", 99),
		Text: "täxt\n", HTML: "<p>häml</p>\n",
	}
	for _, m := range []management.Message{verification, second, {To: "ada@example.org", Text: strings.Repeat("päckchen ", 500)}} {
		if err := d.Send(t.Context(), m); err != nil {
			t.Fatalf("Send = %v", err)
		}
	}
	names := files(t, path)
	want := []string{"email_verification", "______etc_P_ss_w_rd" + strings.Repeat("x", 64-len("______etc_P_ss_w_rd")), "message"}
	if len(names) != len(want) {
		t.Fatalf("files = %v, want %d", names, len(want))
	}
	var messages []parsed
	for i, name := range names {
		if ok, err := regexp.MatchString(`^\d{8}T\d{6}\.\d{9}Z-`+want[i]+`-\d+\.eml$`, name); !ok || err != nil {
			t.Errorf("file name %s, want <time>-%s-<random>.eml (%v)", name, want[i], err)
		}
		checkMode(t, filepath.Join(path, name), 0o600)
		data, err := os.ReadFile(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.ReplaceAll(string(data), "\r\n", ""); strings.ContainsAny(text, "\r\n") {
			t.Errorf("%s has line ends that are not CR LF", name)
		}
		for line := range strings.Lines(string(data)) {
			if len(line) > 1000 {
				t.Errorf("%s has a line of %d bytes", name, len(line))
			}
		}
		if link := "\r\nhttps://app.example.com/verify_email/0192f3c0-7a10-7000-8000-000000000007/"; i == 0 && !strings.Contains(string(data), link) {
			t.Errorf("the link cannot be copied from\n%s", data)
		}
		messages = append(messages, parse(t, string(data)))
	}
	from := "Flagstaff Ünit <flagstaff@example.com>"
	wantMessages := []parsed{
		{from, "<ada@example.org>", verification.Subject, map[string]string{"text/plain": verification.Text}},
		{from, "<jörg@example.org>", second.Subject, map[string]string{"text/plain": second.Text, "text/html": second.HTML}},
		{from, "<ada@example.org>", "", map[string]string{"text/plain": strings.Repeat("päckchen ", 500)}},
	}
	if diff := cmp.Diff(wantMessages, messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestDirRefusesInjection(t *testing.T) {
	d, path := openDir(t)
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			if err := d.Send(t.Context(), tt.m); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Send = %v, want …%s", err, tt.want)
			}
		})
	}
	if names := files(t, path); len(names) != 0 {
		t.Errorf("files = %v, want none", names)
	}
}

func TestDirFails(t *testing.T) {
	d, path := openDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Send(ctx, verification); !errors.Is(err, context.Canceled) {
		t.Errorf("Send = %v, want context.Canceled", err)
	}
	if names := files(t, path); len(names) != 0 {
		t.Errorf("files = %v, want none", names)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	err := d.Send(t.Context(), verification)
	if want := "mail: write email_verification into " + path + ": "; !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("Send = %v, want fs.ErrNotExist", err)
	}

	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := mail.OpenDir(path, options); d != nil || !strings.HasPrefix(fmt.Sprint(err), "mail: create a folder for mails: ") {
		t.Errorf("OpenDir of a file = %v, %v; want an error", d, err)
	}
}

func TestDirConcurrentUse(t *testing.T) {
	d, path := openDir(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if err := d.Send(t.Context(), verification); err != nil {
					t.Errorf("Send = %v", err)
				}
			}
		})
	}
	wg.Wait()
	names := files(t, path)
	if len(names) != 80 {
		t.Errorf("%d files, want 80", len(names))
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".eml") {
			t.Errorf("file %s, want .eml only", name)
		}
	}
}

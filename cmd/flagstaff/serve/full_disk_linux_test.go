package serve

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRuling72FullDisk fills the disk on which the store is (wire.md §2.11).
func TestRuling72FullDisk(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("none", folder, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	url, stderr, stop := start(t, nil, "-store", filepath.Join(folder, "full.db"), "-project-key", "phc_full", "-addr", "127.0.0.1:0")
	defer stop()
	send := func() int {
		t.Helper()
		body := `{"api_key":"phc_full","event":"e","distinct_id":"u","properties":{"x":"` + strings.Repeat("x", 20_000) + `"}}`
		w, err := http.Post(url+"/i/v0/e/", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		return w.StatusCode
	}
	want := func(path string, status int, text string) {
		t.Helper()
		if s, got := get(t, url+path); s != status || got != text {
			t.Errorf("%s = %d %q, want %d %q", path, s, got, status, text)
		}
	}
	if status := send(); status != http.StatusOK {
		t.Fatalf("an event: status %d", status)
	}
	want("/readyz", 200, "ready")
	filler := filepath.Join(folder, "filler")
	if err := os.WriteFile(filler, bytes.Repeat([]byte{1}, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk takes everything: %v", err)
	}
	// The log of SQLite may have room for a few more.
	eventually(t, "that an event is refused", func() bool { return send() == http.StatusServiceUnavailable })
	want("/readyz", 503, "not ready: events cannot be written")
	want("/healthz", 200, "ok")
	stderr.await(t, "not ready: events cannot be written")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, "that it is ready again", func() bool {
		status, _ := get(t, url+"/readyz")
		return status == http.StatusOK
	})
	if status := send(); status != http.StatusOK {
		t.Errorf("an event after there is room again: status %d", status)
	}
}

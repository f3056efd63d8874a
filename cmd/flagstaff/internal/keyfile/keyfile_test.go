package keyfile_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/keyfile"
)

func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "flagstaff.db"+keyfile.Suffix)
	if err := keyfile.Create(path); err != nil {
		fmt.Println(err)
	}
	keys, err := keyfile.Read(path)
	fmt.Println(len(keys), err)
	// Output: 1 <nil>
}

func TestRead(t *testing.T) {
	one, two := strings.Repeat("0f", 32), strings.Repeat("A0", 32)
	key := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	path := filepath.Join(t.TempDir(), "a.key")
	for _, tt := range []struct {
		text string
		keys [][]byte
		err  string
	}{
		{one, [][]byte{key(one)}, ""},
		{"# the newest\n\n " + two + " \r\n" + one + "\n", [][]byte{key(two), key(one)}, ""},
		{"", nil, "FILE has no secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints"},
		{"#\n" + one[2:], nil, "FILE:2 is not a secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints"},
		{one + "\nsecret", nil, "FILE:2 is not a secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints"},
		{one + "\n" + strings.ToUpper(one), nil, "FILE:2 has a secret key for the second time: remove the line"},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := keyfile.Read(path)
		text := ""
		if err != nil {
			text = strings.ReplaceAll(err.Error(), path, "FILE")
		}
		if diff := cmp.Diff(tt.err, text); diff != "" {
			t.Errorf("%q: error (-want +got)\n%s", tt.text, diff)
		}
		if diff := cmp.Diff(tt.keys, keys); diff != "" {
			t.Errorf("%q: keys (-want +got)\n%s", tt.text, diff)
		}
	}
}

// TestWrite: a file is made once, for its owner only, and nothing else is left.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.key")
	if err := keyfile.Write(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := keyfile.Write(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second Write = %v, want fs.ErrExist", err)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "first" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("%d files, %v; want 1", len(list), err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(strings.Repeat("0f", 32) + "\n# x\n"))
	path := filepath.Join(f.TempDir(), "a.key")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := keyfile.Read(path)
		if (len(keys) == 0) != (err != nil) {
			t.Errorf("%d keys and the error %v", len(keys), err)
		}
		for _, key := range keys {
			if len(key) != 32 {
				t.Errorf("a key of %d bytes", len(key))
			}
		}
	})
}

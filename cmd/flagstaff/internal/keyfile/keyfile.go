package keyfile

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const size = 32 // bytes of a key

// Suffix is what the name of the file of an SQLite store has besides the name of the
// store.
const Suffix = ".key"

// Read returns the keys of a file, one or more. The first encrypts, all decrypt. The
// error wraps the error of the operating system, and quotes no key.
func Read(path string) ([][]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != size {
			return nil, fmt.Errorf("%s:%d is not a secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints", path, n)
		}
		if slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return nil, fmt.Errorf("%s:%d has a secret key for the second time: remove the line", path, n)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints", path)
	}
	return keys, nil
}

// New returns a new key.
func New() []byte {
	key := make([]byte, size)
	rand.Read(key) // never fails
	return key
}

// Create makes a file with a new key, see [Write].
func Create(path string) error { return Write(path, []byte(hex.EncodeToString(New())+"\n")) }

// Write makes a file that only its owner can read, in one step, because two servers may
// start on one store at the same time. The error is [fs.ErrExist] if the file exists.
func Write(path string, content []byte) error {
	if _, err := os.Stat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".flagstaff-key-*") // creates the file with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

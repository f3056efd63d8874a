package source

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// The file of a Cached has two lines and the document:
//
//	flagstaff definitions 1 <SHA-256 of the rest in hexadecimal>
//	<header as JSON>
//	<document, byte for byte>
//
// A reader refuses all other versions of this format.
const cacheMagic = "flagstaff definitions 1 "

// maxCacheFile leaves room for the two lines before the largest document.
const maxCacheFile = flags.MaxDocument + 1<<20

var (
	errForeign = errors.New("the definitions in it are of another source")
	errDamaged = errors.New("it is damaged, or no file of this version")
)

// A cacheHeader describes the document in a file.
type cacheHeader struct {
	Identity string    `json:"identity"`
	Version  string    `json:"version"`
	Fetched  time.Time `json:"fetched"`

	// Kept is what stays in force of older documents because this one breaks it.
	Kept *cachedKept `json:"kept,omitempty"`
}

// A cachedKept is definitions, and why and since when they are kept.
type cachedKept struct {
	Definitions json.RawMessage `json:"definitions"`
	List        []keptRecord    `json:"list"`
}

type keptRecord struct {
	Since   time.Time     `json:"since"`
	Problem flags.Problem `json:"problem"`
}

// formatCache returns the content of a file.
func formatCache(h cacheHeader, document []byte) ([]byte, error) {
	header, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("source: keep definitions: %w", err)
	}
	body := append(append(header, '\n'), document...)
	sum := sha256.Sum256(body)
	return append([]byte(cacheMagic+hex.EncodeToString(sum[:])+"\n"), body...), nil
}

// parseCache reads the content that formatCache has written.
func parseCache(content []byte) (h cacheHeader, document []byte, err error) {
	first, body, _ := bytes.Cut(content, []byte("\n"))
	sum := sha256.Sum256(body)
	if string(first) != cacheMagic+hex.EncodeToString(sum[:]) {
		return h, nil, errDamaged
	}
	header, document, _ := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(header, &h); err != nil {
		return h, nil, errDamaged
	}
	return h, document, nil
}

func readCache(path string) (h cacheHeader, document []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return h, nil, fmt.Errorf("source: %w", err)
	}
	if !info.Mode().IsRegular() { // opening a file of another kind could block
		return h, nil, fmt.Errorf("source: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return h, nil, fmt.Errorf("source: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxCacheFile))
	if err != nil {
		return h, nil, fmt.Errorf("source: %w", err)
	}
	if h, document, err = parseCache(content); err != nil {
		return h, nil, fmt.Errorf("source: %s: %w", path, err)
	}
	return h, document, nil
}

// writeCache replaces a file. Readers, and a process that starts after a crash,
// see either the old content or the new one.
func writeCache(path string, h cacheHeader, document []byte) (err error) {
	content, err := formatCache(h, document)
	if err != nil {
		return err
	}
	dir, name := filepath.Split(path)
	dir = cmp.Or(dir, ".")                      // not the folder for temporary files
	f, err := os.CreateTemp(dir, "."+name+".*") // creates the file with mode 0600
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("source: %w", err)
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	// On systems that can sync a directory, the new name survives a power cut,
	// too.
	if d, openErr := os.Open(dir); openErr == nil {
		_ = d.Sync()
		d.Close()
	}
	return nil
}

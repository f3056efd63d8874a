package publish

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// writeProxy writes the published modules at a version into a folder, as the go
// command reads them with GOPROXY=file://….
func (r *Repo) writeProxy(dir, version string) error {
	for _, m := range r.Published() {
		base, err := moduleFolder(dir, m.Path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(base, 0o755); err != nil {
			return err
		}
		mod, err := r.read(m.mod())
		if err != nil {
			return err
		}
		info, err := json.Marshal(struct {
			Version string
			Time    time.Time
		}{version, time.Now().UTC()})
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		if err := zip.Create(&packed, m.version(version), r.pack(m)); err != nil {
			return err
		}
		for name, content := range map[string][]byte{
			"list":            []byte(version + "\n"),
			version + ".info": info,
			version + ".mod":  mod,
			version + ".zip":  packed.Bytes(),
		} {
			if err := os.WriteFile(filepath.Join(base, name), content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// moduleFolder returns where a proxy in a folder has the versions of a module.
func moduleFolder(dir, modulePath string) (string, error) {
	escaped, err := module.EscapePath(modulePath)
	return filepath.Join(dir, filepath.FromSlash(escaped), "@v"), err
}

// sums returns the lines of a go.sum for a module of the proxy in a folder.
func sums(dir string, m module.Version) ([]string, error) {
	base, err := moduleFolder(dir, m.Path)
	if err != nil {
		return nil, err
	}
	all, err := dirhash.HashZip(filepath.Join(base, m.Version+".zip"), dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(base, m.Version+".mod"))
	})
	if err != nil {
		return nil, err
	}
	return []string{
		m.Path + " " + m.Version + " " + all,
		m.Path + " " + m.Version + "/go.mod " + mod,
	}, nil
}

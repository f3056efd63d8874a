package tool

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteFile replaces a file as a whole. The new one can be read by all who may read the
// folder, as other documents.
func WriteFile(path string, content []byte) error {
	const readable = 0o644
	return ReplaceFile(path, readable, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// ReplaceFile replaces a file by what f writes: there is the old one or the new one,
// whatever happens.
func ReplaceFile(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

package publish

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

// A Platform is what a binary is for.
type Platform struct{ os, arch string }

func (p Platform) String() string { return p.os + "_" + p.arch }

// Platforms returns the platforms of a release's binaries.
func Platforms() []Platform {
	var list []Platform
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			list = append(list, Platform{system, arch})
		}
	}
	return list
}

// programName is the name of the program in archives, and how archives begin.
const programName = "flagstaff"

func (l *Release) archiveName(p Platform) string {
	suffix := ".tar.gz"
	if p.os == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s%s", programName, l.Version, p, suffix)
}

// build builds the program for all platforms: archives with the program and the
// licences of what is in it, a list of its parts for each, and their checksums.
//
// The program is installed from the version's module as `go install` does it for
// users. With the same Go release they get the same bytes.
func (l *Release) build(ctx context.Context, dir string) error {
	if len(l.Platforms) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s, err := l.Repo.newSandbox(ctx, dir, l.Version)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(l.Repo.modules, func(m *Module) bool { return m.Folder == "cmd/"+programName })
	if i < 0 {
		return fmt.Errorf("no module cmd/%s", programName)
	}
	program := l.Repo.modules[i]
	files := make(map[string][]byte) // by their names in l.Out
	for _, p := range l.Platforms {
		binary, err := s.install(ctx, program, p)
		if err != nil {
			return err
		}
		info, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			return fmt.Errorf("the binary for %s: %w", p, err)
		}
		licenses, err := s.licenses(ctx, l.Repo, info)
		if err != nil {
			return err
		}
		license, err := l.Repo.read("LICENSE")
		if err != nil {
			return err
		}
		name := programName
		if p.os == "windows" {
			name += ".exe"
		}
		archive, err := pack(p, l.Date, []entry{{name, binary, 0o755}, {"LICENSE", license, 0o644}, {"LICENSES.txt", licenses, 0o644}})
		if err != nil {
			return err
		}
		files[l.archiveName(p)] = archive
		parts, err := components(info, binary, l.Date)
		if err != nil {
			return err
		}
		files[fmt.Sprintf("%s_%s_%s.cdx.json", programName, l.Version, p)] = parts
		l.say("built %s (%.1f MB)", filepath.Join(l.Out, l.archiveName(p)), float64(len(archive))/1e6)
	}
	files["SHA256SUMS"] = checksums(files)
	if err := os.MkdirAll(l.Out, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(l.Out, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// install builds the program for a platform and returns the binary.
func (s *sandbox) install(ctx context.Context, program *Module, p Platform) ([]byte, error) {
	bin := filepath.Join(s.dir, "bin-"+p.String())
	work, err := s.folder("work-" + p.String())
	if err != nil {
		return nil, err
	}
	// The go command refuses GOBIN for other platforms, and puts what it installs for
	// them into a folder of GOPATH. What is released is compiled with default flags.
	env := []string{"GOFLAGS=-modcacherw", "GOPATH=" + bin, "GOBIN=", "CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch}
	if _, err := s.run(ctx, work, env, "go", "install", "-trimpath", "-ldflags=-s -w", program.version(s.version).String()); err != nil {
		return nil, err
	}
	folder := filepath.Join(bin, "bin")
	if p.os != runtime.GOOS || p.arch != runtime.GOARCH {
		folder = filepath.Join(folder, p.String())
	}
	name := path.Base(program.Folder)
	if p.os == "windows" {
		name += ".exe"
	}
	return os.ReadFile(filepath.Join(folder, name))
}

// entry is a file in an archive.
type entry struct {
	name    string
	content []byte
	mode    fs.FileMode
}

// pack makes an archive. Equal entries and dates make equal archives.
func pack(p Platform, date time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	if p.os == "windows" {
		w := zip.NewWriter(&out)
		for _, e := range entries {
			header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date.UTC()}
			header.SetMode(e.mode)
			f, err := w.CreateHeader(header)
			if err != nil {
				return nil, err
			}
			if _, err := f.Write(e.content); err != nil {
				return nil, err
			}
		}
		err := w.Close()
		return out.Bytes(), err
	}
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(e.content)), ModTime: date.UTC(), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), compressed.Close())
	return out.Bytes(), err
}

// checksums returns the SHA-256 of files, as sha256sum -c reads them.
func checksums(files map[string][]byte) []byte {
	var lines []string
	for name, content := range files {
		sum := sha256.Sum256(content)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2*sha256.Size:], b[2*sha256.Size:]) })
	return []byte(strings.Join(lines, ""))
}

// licenseNames begin the names of files with a licence, or with what it requires.
var licenseNames = []string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}

// licenses returns the licences of what a binary has of others: of Go and of modules.
// It is an error if a module has none.
func (s *sandbox) licenses(ctx context.Context, r *Repo, info *buildinfo.BuildInfo) ([]byte, error) {
	root, err := s.run(ctx, s.dir, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	add := func(what, dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		found := false
		for _, e := range entries {
			upper := strings.ToUpper(e.Name())
			if e.IsDir() || !slices.ContainsFunc(licenseNames, func(name string) bool { return strings.HasPrefix(upper, name) }) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "==== %s: %s ====\n\n%s\n\n", what, e.Name(), bytes.TrimSpace(text))
			found = true
		}
		if !found {
			return fmt.Errorf("%s has no licence", what)
		}
		return nil
	}
	if err := add("Go, "+info.GoVersion, strings.TrimSpace(root)); err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		if r.isOurs(d.Path) {
			continue
		}
		escaped, err := module.EscapePath(d.Path)
		if err != nil {
			return nil, err
		}
		version, err := module.EscapeVersion(d.Version)
		if err != nil {
			return nil, err
		}
		if err := add(d.Path+" "+d.Version, filepath.Join(s.dir, "mod", filepath.FromSlash(escaped+"@"+version))); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

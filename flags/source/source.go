package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/flagstaff-go/flagstaff/flags"
)

// ErrNotModified is the error of Load if the caller has the current version.
var ErrNotModified = errors.New("source: definitions not modified")

// A Source provides definitions. Implementations are safe for concurrent use.
type Source interface {
	// Load returns the definitions and a text that identifies their version.
	// The caller passes the version that it has, or "". If this is the current
	// one, the error is [ErrNotModified]. The caller may change the definitions.
	Load(ctx context.Context, have string) (d *flags.Definitions, version string, err error)
}

// A DocumentSource is a Source whose definitions are a document for
// [flags.Decode], so that they can be stored unchanged.
type DocumentSource interface {
	Source

	// Document is Load without decoding.
	Document(ctx context.Context, have string) (document []byte, version string, err error)

	// Identity distinguishes sources with different definitions. It is not
	// secret.
	Identity() string
}

// An Originator is a Source that says where its definitions come from, for
// [Status.Origin]: "remote", "file" and "static" are the origins of this package.
type Originator interface {
	Origin() string
}

// A Pacer is a Source that suggests how often a [Loader] loads from it.
type Pacer interface {
	// Pace returns the time between two loads, and the longest pause after loads
	// that failed. Zero means no suggestion.
	Pace() (interval, maxBackoff time.Duration)
}

var (
	_ DocumentSource = File{}
	_ DocumentSource = Remote{}

	_ Originator = Static{}
	_ Originator = File{}
	_ Originator = Remote{}

	_ Pacer = Remote{}
	_ Pacer = Cached{}
)

// A decoding reads a document, which does not change any more.
type decoding func(document []byte) (*flags.Definitions, error)

// decode is the decoding of sources that are asked without a Loader.
func decode(document []byte) (*flags.Definitions, error) {
	return flags.Decode(bytes.NewReader(document))
}

// load asks a File or a Remote for a document, and decodes it.
func load(ctx context.Context, s DocumentSource, have string, decode decoding) (*flags.Definitions, string, error) {
	document, version, err := s.Document(ctx, have)
	if err != nil {
		return nil, version, err
	}
	d, err := decode(document)
	if err != nil {
		of := "the server's answer"
		if f, ok := s.(File); ok {
			of = f.Path
		}
		return nil, "", fmt.Errorf("source: %s: %w", of, err)
	}
	return d, version, nil
}

// Static is a Source whose definitions never change.
type Static struct {
	Definitions *flags.Definitions
}

const staticVersion = "static"

// Origin returns "static".
func (s Static) Origin() string { return "static" }

// Load returns the definitions, or [ErrNotModified] if the caller has them.
func (s Static) Load(_ context.Context, have string) (*flags.Definitions, string, error) {
	if s.Definitions == nil {
		return nil, "", errors.New("source: Static has no definitions")
	}
	if have == staticVersion {
		return nil, staticVersion, ErrNotModified
	}
	return s.Definitions, staticVersion, nil
}

// File is a Source that reads a definitions document (see [flags.Decode]) from
// disk.
//
// The version has two parts. Size and time of modification are known after one
// stat. A hash of the content keeps a file that was only touched or copied from
// being loaded again. On a file system with coarse times, a change that keeps
// the size could go unnoticed, so a file that was modified in the last seconds
// is read each time.
type File struct {
	Path string
}

// settled is the age from which the time of a modification is trusted.
const settled = 5 * time.Second

// Origin returns "file".
func (f File) Origin() string { return "file" }

// Identity returns the path.
func (f File) Identity() string { return "file " + f.Path }

// Load reads the file, unless it has not changed since the version have.
func (f File) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	return load(ctx, f, have, decode)
}

// Document is Load without decoding.
func (f File) Document(_ context.Context, have string) (document []byte, version string, err error) {
	if f.Path == "" {
		return nil, "", errors.New("source: File has no Path")
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return nil, "", fmt.Errorf("source: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("source: %s is not a regular file", f.Path)
	}
	stamp := strconv.FormatInt(info.Size(), 10) + "-" + strconv.FormatInt(info.ModTime().UnixNano(), 10)
	haveStamp, haveHash, _ := strings.Cut(have, "/")
	if have != "" && haveStamp == stamp && time.Since(info.ModTime()) > settled {
		return nil, have, ErrNotModified
	}
	// The content is read once, so that the hash is right even while the file
	// is being written.
	content, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, "", fmt.Errorf("source: %w", err)
	}
	hash := strconv.FormatUint(xxhash.Sum64(content), 16)
	version = stamp + "/" + hash
	if have != "" && hash == haveHash {
		return nil, version, ErrNotModified
	}
	return content, version, nil
}

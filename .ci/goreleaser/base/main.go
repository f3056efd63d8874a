package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	address = "127.0.0.1:5099" // as in .goreleaser.yaml
	user    = 10001
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("base: ")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		log.Fatal(http.Serve(listener, registry.New(registry.Logger(log.New(io.Discard, "", 0)))))
	}()
	if err := push(); err != nil {
		log.Fatal(err)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
}

// push puts the base image into the registry.
func push() error {
	files, err := layer()
	if err != nil {
		return err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }
	content, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		image, err := mutate.ConfigFile(image, &v1.ConfigFile{OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{
			User: fmt.Sprint(user), WorkingDir: "/data", ExposedPorts: map[string]struct{}{"8000/tcp": {}},
			Env: []string{"FLAGSTAFF_ADDR=0.0.0.0:8000", "FLAGSTAFF_LOG_FORMAT=json", "ZONEINFO=/etc/zoneinfo.zip"},
		}})
		if err != nil {
			return err
		}
		if image, err = mutate.AppendLayers(image, content); err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	reference, err := name.ParseReference(address + "/base")
	if err != nil {
		return err
	}
	return remote.WriteIndex(reference, index)
}

// layer returns the files of the base image.
func layer() ([]byte, error) {
	var certificates, out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a file cannot say it
		}
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	zones, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		tar.Header
		content []byte
	}{
		{tar.Header{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o750, Uid: user, Gid: user}, nil},
		{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil},
		{tar.Header{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, certificates.Bytes()},
		{tar.Header{Name: "etc/zoneinfo.zip", Mode: 0o644}, zones},
	} {
		f.Size = int64(len(f.content))
		if err := w.WriteHeader(&f.Header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

package publish

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// These types have the members of CycloneDX 1.6 that a list of a binary's parts needs.
type (
	sbom struct {
		Schema       string          `json:"$schema"`
		Format       string          `json:"bomFormat"`
		SpecVersion  string          `json:"specVersion"`
		SerialNumber string          `json:"serialNumber"`
		Version      int             `json:"version"`
		Metadata     sbomMetadata    `json:"metadata"`
		Components   []sbomComponent `json:"components"`
		Dependencies []sbomDepends   `json:"dependencies"`
	}
	sbomMetadata struct {
		Timestamp time.Time     `json:"timestamp"`
		Component sbomComponent `json:"component"`
	}
	sbomComponent struct {
		Type       string         `json:"type"`
		Ref        string         `json:"bom-ref"`
		Name       string         `json:"name"`
		Version    string         `json:"version"`
		PURL       string         `json:"purl"`
		Hashes     []sbomHash     `json:"hashes,omitempty"`
		Properties []sbomProperty `json:"properties,omitempty"`
	}
	sbomHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	sbomProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	sbomDepends struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// components returns the list of a binary's parts, a bill of materials: the modules and
// the standard library that the linker has put in, as the binary itself says. Equal
// binaries have equal lists.
func components(info *buildinfo.BuildInfo, binary []byte, date time.Time) ([]byte, error) {
	sum := sha256.Sum256(binary)
	id := slices.Clone(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8, whose bits are its maker's
	main := component("application", info.Main.Path, info.Main.Version)
	main.Hashes = []sbomHash{{"SHA-256", hex.EncodeToString(sum[:])}}
	for _, s := range info.Settings {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED"}, s.Key) {
			main.Properties = append(main.Properties, sbomProperty{"go:" + s.Key, s.Value})
		}
	}
	list := []sbomComponent{component("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, d := range info.Deps {
		c := component("library", d.Path, d.Version)
		c.Properties = []sbomProperty{{"go:sum", d.Sum}}
		list = append(list, c)
	}
	var refs []string
	for _, c := range list {
		refs = append(refs, c.Ref)
	}
	b, err := json.MarshalIndent(sbom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		Metadata:     sbomMetadata{date.UTC(), main},
		Components:   list,
		Dependencies: []sbomDepends{{main.Ref, refs}},
	}, "", "  ")
	return append(b, '\n'), err
}

func component(kind, name, version string) sbomComponent {
	// Package URLs of Go modules are in lower case, and + stands for a blank in them.
	purl := "pkg:golang/" + strings.ToLower(name) + "@" + strings.ReplaceAll(version, "+", "%2B")
	return sbomComponent{Type: kind, Ref: purl, Name: name, Version: version, PURL: purl}
}

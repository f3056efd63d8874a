package openapi

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed document/*.yaml
var files embed.FS

//go:embed openapi.json
var document string

// JSON returns the document as JSON.
func JSON() string { return document }

// YAML returns the document as YAML, for people.
func YAML() string {
	var b strings.Builder
	names, err := fs.Glob(files, "document/*.yaml") // in the order of their names
	if err != nil {
		panic(err) // cannot be: a constant pattern
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // cannot be: the file is in the program
		}
		b.Write(text)
	}
	return b.String()
}

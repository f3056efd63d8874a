package people

import (
	"embed"
)

// Templates are the partials with which pages show what the package makes.
//
//go:embed templates
var Templates embed.FS

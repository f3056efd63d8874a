package release

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// version is set by the linker where the program is built for a release:
//
//	go build -ldflags "-X github.com/flagstaff-go/flagstaff/cmd/internal/release.version=v1.2.3"
var version string

// Info says which release a program is, and how it was built.
type Info struct {
	Version  string `json:"version"`            // such as "v1.2.3"; "(devel)" if nobody has said
	Revision string `json:"revision,omitempty"` // of the source, if the program was built in a checkout
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
	Go       string `json:"go"`                 // such as "go1.26.8"
	Platform string `json:"platform"`           // such as "linux/amd64"
}

// Get returns what is known of the running program: what the linker was told, else the
// version with which `go install` has built it, else what the go command has noted of
// the checkout.
func Get() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	return read(version, build)
}

func read(linked string, build *debug.BuildInfo) Info {
	i := Info{
		Version:  cmp.Or(linked, build.Main.Version, "(devel)"),
		Go:       cmp.Or(build.GoVersion, runtime.Version()),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

// String returns the line that programs print for their version.
func (i Info) String() string { return "flagstaff " + i.Version }

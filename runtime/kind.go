package runtime

import "strings"

// A Kind says where a request comes from.
type Kind uint8

const (
	// All sees every flag: runtimes are not filtered. An evaluation in the process
	// that names no kind gets it, and a request that asks for it.
	All Kind = iota

	// Unknown sees only flags without a requirement: nothing told a client
	// from a server.
	Unknown

	// Client is a browser or an app.
	Client

	// Server is a backend.
	Server
)

// ParseKind returns the kind that a request names in its field
// evaluation_runtime: "client", "server" or "all", ignoring case. Any other
// text, the empty one included, is [All] (evaluation.md §9.1). A request
// without the field is one for [Detector.Detect].
func ParseKind(s string) Kind {
	switch ParseRequirement(s) {
	case ClientOnly:
		return Client
	case ServerOnly:
		return Server
	default:
		return All
	}
}

// String returns "all", "unknown", "client" or "server".
func (k Kind) String() string {
	switch k {
	case All:
		return "all"
	case Client:
		return "client"
	case Server:
		return "server"
	default:
		return "unknown"
	}
}

// A Requirement is what a flag asks of the runtime that may see it.
type Requirement uint8

const (
	// Any is not a requirement.
	Any Requirement = iota

	// ClientOnly hides the flag from servers.
	ClientOnly

	// ServerOnly hides the flag from clients.
	ServerOnly
)

// ParseRequirement returns the requirement that a flag definition names in its
// field evaluation_runtime: "client" or "server", ignoring case. Any other text
// is [Any] (evaluation.md §1.2).
func ParseRequirement(s string) Requirement {
	// The lengths keep out what EqualFold takes beyond ASCII, such as "ſerver".
	switch {
	case len(s) == len("client") && strings.EqualFold(s, "client"):
		return ClientOnly
	case len(s) == len("server") && strings.EqualFold(s, "server"):
		return ServerOnly
	default:
		return Any
	}
}

// String returns "all", "client" or "server", as flag definitions have it.
func (r Requirement) String() string {
	switch r {
	case ClientOnly:
		return "client"
	case ServerOnly:
		return "server"
	default:
		return "all"
	}
}

// Admits reports whether a request of kind k may see a flag with requirement r
// (api.md §4.3, rule 2).
func (r Requirement) Admits(k Kind) bool {
	if k == All {
		return true
	}
	switch r {
	case ClientOnly:
		return k == Client
	case ServerOnly:
		return k == Server
	default:
		return true
	}
}

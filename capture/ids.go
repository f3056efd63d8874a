package capture

import "strings"

// illegalFolded are distinct IDs that many clients send by mistake, in lower case.
// The IDs in illegalExact are mistakes only with these capitals (wire.md §3.4).
var (
	illegalFolded = map[string]bool{
		"anonymous": true, "guest": true, "distinctid": true, "distinct_id": true, "id": true,
		"not_authenticated": true, "email": true, "undefined": true, "true": true, "false": true,
	}
	illegalExact = map[string]bool{
		"[object Object]": true, "NaN": true, "None": true, "none": true, "null": true, "0": true, "undefined": true,
	}
)

// IllegalID reports whether a distinct ID identifies nobody, so that it must never
// be linked with another ID: many persons would become one (wire.md §3.4).
func IllegalID(id string) bool {
	if blank(id) {
		return true
	}
	if n := len(id); n >= 2 && id[0] == id[n-1] && (id[0] == '"' || id[0] == '\'') {
		id = id[1 : n-1]
		if blank(id) {
			return true
		}
	}
	const maxIllegal = len("not_authenticated")
	return len(id) <= maxIllegal && (illegalExact[id] || illegalFolded[strings.ToLower(id)])
}

// shared are IDs that are not a mistake and still identify nobody (wire.md §2.9).
var shared = map[string]bool{
	"system": true, "user": true, "backend": true, "server": true, "anonymous-user": true, "anonymous_user": true,
	"00000000-0000-0000-0000-000000000000": true,
}

// isNobody reports whether the newer route stores events of a distinct ID without a
// person.
func isNobody(id string) bool { return IllegalID(id) || shared[strings.ToLower(id)] }

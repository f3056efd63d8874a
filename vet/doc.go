// Package vet checks the use of feature flags in Go programs against the definitions of the
// flags: keys that do not exist, accessors of another type, variants that a flag does not
// have, flags that are archived, switched off or the same for everybody, handles that
// nobody uses, and flags that no code reads. It knows the calls of this library, of handles
// that it declares, of OpenFeature's Go SDK and of posthog-go by their types.
//
// It is a command, flagstaff vet; a tool of go vet, cmd/flagstaff-vet in module cmd; a plugin of
// golangci-lint, in golangci; and a library: [Run] checks a program, and [New] returns an
// analyzer for drivers of golang.org/x/tools/go/analysis.
//
// # Rules
//
//	unknown-key      no flag has the key
//	wrong-type       the flag has no value of the type that is asked for
//	unknown-variant  the flag has no such variant: as a fallback, in a comparison, in a case
//	missing-variant  a switch over the variants leaves one out, and has no default
//	payload-member   payloads and the struct that they are decoded into have other members
//	archived         the flag is archived
//	inactive         the flag is switched off
//	constant         the flag has the same value for every request
//	missing-context  the request, a literal, does not have what the flag looks at
//	unused-handle    no code of the packages uses the handle
//	unused-flag      no code of the packages reads the flag, if Config.Unused says so
//	expired          an entry of the ignore list has passed its date
//
// The first four and the last one are errors by default, the others warnings. Bool of a
// Person, a Snapshot or an Evaluator for a flag with variants is none of them: it is true for
// each variant. A handle of NewBool for such a flag is wrong, because it has its fallback. A flag
// with a rule set is to be asked for by the type of its values.
//
// # Configuration
//
// A file .flagstaff-vet.yaml, see [ReadConfig], says where the definitions are, how severe
// each rule is, and what is ignored until when and why.
package vet

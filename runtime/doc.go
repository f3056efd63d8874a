// Package runtime tells whether a client or a server asks for flags, and which
// flags may be seen there.
//
// A server that receives a request detects its [Kind] and hides the flags that
// are not meant for it:
//
//	kind := runtime.Detector{}.Detect(runtime.SignalsOf(r.Header))
//	filter := runtime.Filter{Kind: kind, Tags: contexts}
//	if filter.Admits(flag.Requirement, flag.Tags, runtime.AnyTag) { … }
//
// A Go program that evaluates flags for itself needs none of this: the zero
// [Filter] hides nothing.
//
// # The rules
//
// Which flags a kind of request may see (api.md §4.3, rule 2; evaluation.md §9.1):
//
//	             Any   ClientOnly   ServerOnly
//	All          yes      yes          yes
//	Unknown      yes      no           no
//	Client       yes      yes          no
//	Server       yes      no           yes
//
// The evaluation contexts, here called tags, are the second filter (api.md §4.3,
// rule 1; evaluation.md §9.2): a request with tags sees the flags that have one
// of them, and the flags without tags; a flag can ask for all of its tags instead.
// A flag must pass both (rule 3).
//
// How the kind is detected, the first answer counts:
//
//  1. the request's own word, its field evaluation_runtime: [ParseKind]
//  2. a product's SDK in the User-Agent, such as posthog-node/
//  3. a browser in the User-Agent: Mozilla/, Chrome/, Safari/, Firefox/, Edge/
//  4. a server's tool in the User-Agent: python-requests/, curl/
//  5. a header that browsers send: Origin, Referer, Sec-Fetch-Mode, Sec-Fetch-Site
//
// The User-Agent comes before the headers because Node's built-in fetch sends
// Sec-Fetch-Mode. Tokens are found anywhere in the User-Agent, and their case
// counts. [Detector.Detect] applies rules 2 to 5.
//
// All functions are pure and total: there is no error at request time. All
// values are safe for concurrent use.
//
// A package of the standard library has the same name. A file that needs both
// imports this one as ffruntime.
package runtime

// Package flagstaff evaluates the feature flags of a Go service in its own process. It
// puts the parts of this module together: definitions from a file or a server that are
// kept current, evaluation in nanoseconds, and exposures that are reported in the
// background.
//
//	client, err := flagstaff.Open(ctx, flagstaff.Config{File: "flags.json"})
//	if err != nil {
//		log.Print(err) // the client answers fallbacks until there are definitions
//	}
//	defer client.Close(context.Background())
//
//	p := client.For(&flags.Request{
//		DistinctID: "user-1",
//		Person:     []flags.Property{flags.StringProperty("plan", plan), flags.IntProperty("seats", seats)},
//	})
//	if p.Bool("new-checkout", false) { … }
//
// That costs no allocation, once the exposure has been reported.
//
// # One person, one truth
//
// A [Person] answers all questions about one person, or one group, from one snapshot of
// the definitions: a change of a flag in the middle of a request cannot be seen. It
// evaluates a flag once, and reports one exposure for it, however often it is asked.
// [Client.Middleware] makes a Person for each HTTP request. It travels with the
// context:
//
//	ctx = p.Context(ctx)
//	…
//	if flagstaff.From(ctx).Bool("new-checkout", false) { … }
//
// # Which answer when
//
// Nothing here panics or blocks, and a nil Client or Person answers like one without
// definitions.
//
//	the flag is …       Bool      Variant   Payload   Lookup         Result          in Results
//	on                  true      "true"    payload   "true", true   on              yes
//	on, with a variant  true      variant   payload   variant, true  on              yes
//	off                 false     "false"   fallback  "false", true  off             yes
//	inactive            false     "false"   fallback  "false", true  off             no
//	hidden              false     "false"   fallback  "false", true  ErrFiltered     no
//	failed              fallback  fallback  fallback  "", false      failed          yes
//	unknown             fallback  fallback  fallback  "", false      ErrUnknownFlag  no
//
// Where nothing is loaded all flags are unknown, and the error is ErrNotReady. A flag is
// hidden, inactive or not, if the runtime or the evaluation contexts of the request do
// not admit it, or if its payload is encrypted. A failed flag is one whose definition or
// dependency cannot be understood; one that depends on itself is not in Results.
//
// The first evaluation of an unknown flag is logged, with the keys that may have been meant,
// and [Client.Status] counts them. A flag that worked does not fail because of a slip in a
// newer file: its last good definition stays in force until the file is mended, and the log
// says where the fault is. [Config.KeepLast] asks for the same of a server's definitions.
//
// # Flags in one place
//
// [NewBool], [NewVariant], [NewValue] and [NewPayload] declare flags as variables, with
// their fallbacks. [Client.Check] says which of them do not exist, or have other variants.
// The program flagstaff writes such variables for all flags: flagstaff help gen.
//
//	var Checkout = flagstaff.NewBool("new-checkout", false)
//	…
//	if Checkout.On(ctx) { … }
//
// A snapshot finds declared flags by number. Their methods In ask a snapshot about a
// request, without a Person, in the time of the evaluation alone.
//
// # More
//
// Package flags has evaluation itself, flags/source the loading of definitions, capture
// the reporting of events, and flags/flagstest helps in tests. All of this package is
// made of their public names, so that a program can do without it.
//
// All types are safe for concurrent use.
package flagstaff

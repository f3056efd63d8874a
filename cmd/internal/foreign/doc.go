// Package foreign asks the running systems of other products for the values of flags, so that
// these can be compared with what the same flags give here. A value is what the importer of the
// product (internal/convert) makes of it: null is what the caller falls back on.
//
//	client, err := foreign.New(foreign.Config{From: "flagd", URL: "http://127.0.0.1:8016"})
//	values, err := client.Values(ctx, &flags.Request{DistinctID: "ada"})
package foreign

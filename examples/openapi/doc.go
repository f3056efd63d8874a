// Package openapi tests the OpenAPI document of the server with libraries and programs of
// others: that the document is valid, that every recorded request and answer of
// server/testdata/golden is as the document says, and that clients which foreign
// generators make of it compile and list flags.
//
// It is a module of its own, so that no other module needs these libraries.
package openapi

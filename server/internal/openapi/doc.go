// Package openapi has the OpenAPI 3.1 document of the server's routes, and the page
// that shows the document.
//
// The files of the folder document are the source, written by hand: one after the
// other they are the document, so that each of them is what its number and its name
// say. Paths come first, by area, then components. openapi.json is the same as JSON,
// made of the files by the tests of examples/openapi, which fail if it is not.
//
// Tests hold the document to the server: server/openapi_test.go to routes, scopes and
// the members of bodies and answers, and examples/openapi to the recorded requests and
// answers of server/testdata/golden, and to generators of clients.
package openapi

// Package openapitest compares the OpenAPI document of the server with every recorded
// request and answer of server/testdata/golden.
package openapitest

// Package fulltest says how much tests do.
//
// A test that is slow by design runs with few cases or cheap parameters, so that
// `go test work` takes minutes on a small machine. With FLAGSTAFF_TEST_FULL=1 in the
// environment, as in .ci/run, it runs in full.
package fulltest

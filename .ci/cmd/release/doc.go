// Release makes a commit with a version in the go.mod files and the changelog, and tags
// it once for each module; see .ci/release, which runs it. It pushes nothing. Its test
// TestConsume proves that the modules of such a commit can be used.
package main

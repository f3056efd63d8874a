// Release prepares a release of this checkout; see .ci/release, which runs it.
package main

//go:build !unix

package filelimit

// Process returns None: these systems have no such limit.
func Process() int64 { return None }

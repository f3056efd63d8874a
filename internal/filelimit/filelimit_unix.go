//go:build unix

package filelimit

import "syscall"

// Process returns how many files the process may have open. The Go runtime has raised the
// limit as far as it may.
func Process() int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return None
	}
	if n := int64(limit.Cur); n >= 0 { // more than fits is no limit
		return n
	}
	return None
}

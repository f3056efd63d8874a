//go:build !unix

package postgrestest

import "syscall"

// attributesFor returns how processes of a server run: like all others.
func attributesFor(string) (*syscall.SysProcAttr, error) { return nil, nil }

//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// attributesFor returns how processes of a server run that keeps its data in dir. They
// have a process group of their own, so that an interrupt of the tests does not reach
// them before the tests have cleaned up. PostgreSQL refuses to run as root: for root
// they are the user postgres, to whom dir belongs then.
func attributesFor(dir string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return attributes, nil
	}
	var err error
	if attributes.Credential, err = credential("postgres"); err != nil {
		return nil, err
	}
	return attributes, os.Chown(dir, int(attributes.Credential.Uid), int(attributes.Credential.Gid))
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

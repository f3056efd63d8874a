package main

import (
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// empty makes the system open no more connections, and returns when all that are
// open were taken, or when ctx ends. Closing a listener resets connections that wait
// to be taken, although their clients may have sent a request.
func empty(ctx context.Context, listener net.Listener) {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	// A filter that passes no packet. Clients that try to connect now try again,
	// and find that nobody listens.
	nothing := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing})
	})
	for more := true; more; {
		err := raw.Control(func(fd uintptr) {
			// Of a socket that listens, Unacked is how many connections wait.
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			more = err == nil && info.Unacked > 0
		})
		more = more && err == nil && pause(ctx)
	}
}

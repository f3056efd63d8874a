package serve

import (
	"context"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// noSYN is a filter of packets that passes all but the ones that begin a connection:
// SYN without ACK. Their senders try again, and find that nobody listens.
var noSYN = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13}, // the flags in the header of TCP
	{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0x12},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0x02, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1<<32 - 1},
}

// empty makes the system begin no more connections, gives the ones that have begun
// the time of a handshake, and returns when all that are open were taken, or when ctx
// ends. Closing a listener resets connections that wait to be taken, although their
// clients may have sent a request. The error says why the system goes on to begin
// connections.
//
// Connections that wait at a socket of systemd are for the next process, and so are those
// that begin: nothing is done there.
func empty(ctx context.Context, l *listener, handshake time.Duration) error {
	if l.shared {
		return nil
	}
	l.withdraw()
	socket, ok := l.Listener.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	if l.path != "" { // without its name nobody connects
		emptySocket(ctx, raw)
		return nil
	}
	var refused error
	_ = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(noSYN)), Filter: &noSYN[0]})
	})
	pauses(ctx, handshake)
	for more := true; more; {
		err := raw.Control(func(fd uintptr) {
			// Of a socket that listens, Unacked is how many connections wait.
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			more = err == nil && info.Unacked > 0
		})
		more = more && err == nil && pause(ctx)
	}
	return refused
}

// emptySocket returns when all connections were taken that wait at a Unix socket: it can
// then not be read.
func emptySocket(ctx context.Context, raw syscall.RawConn) {
	for more := true; more; {
		err := raw.Control(func(fd uintptr) {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			more = n > 0 || errors.Is(err, unix.EINTR)
		})
		more = more && err == nil && pause(ctx)
	}
}

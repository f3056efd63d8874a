package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	unixPrefix  = "unix:"   // of -addr
	systemdAddr = "systemd" // as -addr, also with a colon and the name of a socket

	// maxSocketPath is how long the path of a Unix socket may be in bytes. Systems take from
	// 104 on, and the socket has a longer name while it is made.
	maxSocketPath = 90

	// dialTimeout is how long a start waits to learn whether a socket is served.
	dialTimeout = 2 * time.Second
)

// A listener is where the program takes connections.
type listener struct {
	net.Listener

	// The Unix socket that the program has made, "" and nil if it has not.
	path string
	info fs.FileInfo
}

// listen opens the listener of -addr.
func (m *Main) listen(ctx context.Context, s *settings) (*listener, error) {
	if name, ok := systemdName(s.addr); ok {
		return m.inherit(name)
	}
	if path, ok := strings.CutPrefix(s.addr, unixPrefix); ok {
		return listenUnix(ctx, path, fs.FileMode(s.socketMode))
	}
	l, err := listenTCP(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	return &listener{Listener: l}, nil
}

// listenTCP listens on an address.
func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: %w; is another server running there?", addr, err)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// listenUnix makes a socket with a mode. It replaces one that a process has left which is
// dead, and nothing else.
//
// The socket gets its name when it has its mode: before, anybody could connect whom the
// umask lets.
func listenUnix(ctx context.Context, path string, mode fs.FileMode) (_ *listener, err error) {
	if err := checkSocket(ctx, path); err != nil {
		return nil, err
	}
	wrap := func(err error) error { return fmt.Errorf("listen on %s%s: %w", unixPrefix, path, err) }
	partial := path + "." + strconv.Itoa(os.Getpid())
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that had the same number
		return nil, wrap(err)
	}
	made, err := net.ListenUnix("unix", &net.UnixAddr{Name: partial, Net: "unix"})
	if err != nil {
		return nil, wrap(err)
	}
	defer func() {
		if err != nil {
			_ = made.Close()
			_ = os.Remove(partial)
		}
	}()
	made.SetUnlinkOnClose(false)
	if err := os.Chmod(partial, mode); err != nil {
		return nil, wrap(err)
	}
	info, err := os.Lstat(partial)
	if err != nil {
		return nil, wrap(err)
	}
	if err := os.Rename(partial, path); err != nil {
		return nil, wrap(err)
	}
	return &listener{Listener: localListener{made}, path: path, info: info}, nil
}

// checkSocket returns an error unless a socket can be made at a path.
func checkSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := checkNewFile("the socket", filepath.Dir(path)); err != nil {
			return fmt.Errorf("listen on %s%s: %w", unixPrefix, path, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("listen on %s%s: %w", unixPrefix, path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("listen on %s%s: there is a file that is not a socket; remove it, or choose another path", unixPrefix, path)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("listen on %s%s: %w; is another server running there?", unixPrefix, path, syscall.EADDRINUSE)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listen on %s%s: whether a server is running there cannot be found out: %w", unixPrefix, path, err)
	}
	return nil // nobody listens
}

// Close stops listening, and removes the socket if it still has the name that it was given:
// the next process may have made its own.
func (l *listener) Close() error {
	if err := l.Listener.Close(); err != nil || l.path == "" {
		return err
	}
	if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.info) {
		_ = os.Remove(l.path) // the next start replaces what stays
	}
	return nil
}

// url returns the address of the listener.
func (l *listener) url(scheme string) string {
	if a := l.Addr(); a.Network() == "unix" {
		return unixPrefix + a.String()
	}
	return scheme + "://" + l.Addr().String()
}

// Addr returns the address of the listener. A Unix socket has been renamed since it was
// made.
func (l *listener) Addr() net.Addr {
	if l.path != "" {
		return &net.UnixAddr{Name: l.path, Net: "unix"}
	}
	return l.Listener.Addr()
}

// A localListener listens on a Unix socket. Its peers are on this machine, and count as
// 127.0.0.1: nothing else has to know what a Unix socket is, and -trusted-proxies says of a
// proxy behind one whether it is believed as of any other.
type localListener struct{ *net.UnixListener }

// Accept implements [net.Listener].
func (l localListener) Accept() (net.Conn, error) {
	conn, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return localConn{conn}, nil
}

type localConn struct{ *net.UnixConn }

var localPeer = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}

// RemoteAddr implements [net.Conn].
func (localConn) RemoteAddr() net.Addr { return localPeer }

// systemdName reports whether an -addr asks for a socket of systemd, and for which one, ""
// for the only one.
func systemdName(addr string) (name string, ok bool) {
	if addr == systemdAddr {
		return "", true
	}
	return strings.CutPrefix(addr, systemdAddr+":")
}

// firstSocket is the file descriptor of the first socket that systemd passes.
const firstSocket = 3

// inherited returns the file descriptor of a socket that systemd has passed (sd_listen_fds
// of systemd). No name means the only one.
func (m *Main) inherited(name string) (fd int, err error) {
	const hint = "start the program by a unit with a .socket file, see OPERATIONS.md"
	n, err := strconv.Atoi(m.getenv("LISTEN_FDS"))
	if m.getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || err != nil || n < 1 {
		return 0, errors.New("systemd has passed no socket for -addr " + systemdAddr + ": " + hint)
	}
	names := strings.Split(m.getenv("LISTEN_FDNAMES"), ":")
	switch i := slices.Index(names, name); {
	case name != "" && i >= 0 && i < n:
		return firstSocket + i, nil
	case name != "":
		return 0, fmt.Errorf("systemd has passed no socket with the name %q for -addr: it has passed %s", name, strings.Join(names, ", "))
	case n > 1:
		return 0, fmt.Errorf("systemd has passed %d sockets for -addr %s: name one, as in %s:%s; they are %s", n, systemdAddr, systemdAddr, names[0], strings.Join(names, ", "))
	}
	return firstSocket, nil
}

// inherit returns the listener of a socket that systemd has passed.
func (m *Main) inherit(name string) (*listener, error) {
	fd, err := m.inherited(name)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "socket of systemd")
	l, err := net.FileListener(f)
	if err := errors.Join(err, f.Close()); err != nil { // FileListener has made a copy
		return nil, fmt.Errorf("the socket that systemd has passed for -addr: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		l = localListener{u}
	}
	return &listener{Listener: l}, nil
}

// notify tells systemd about the state of the program (sd_notify of systemd), if it wants to
// know.
func (m *Main) notify(state string) error {
	name := m.getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"}) // Go knows the @ of abstract names
	if err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	_, err = conn.Write([]byte(state))
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	return nil
}

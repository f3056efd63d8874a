package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientIP returns the address that a request comes from (evaluation.md §10). It is
// not valid if the peer's cannot be understood and the headers name no other.
//
// Proxies append the address of their own peer to X-Forwarded-For. With a list of
// trusted proxies, the right end is therefore what they say, and all before it is
// what the client says. Without a list every peer is believed, and the first entry
// is the client.
func (s *Server) ClientIP(r *http.Request) netip.Addr {
	peer := parseIP(r.RemoteAddr)
	lines := forwardedFor(r.Header)
	if s.config.TrustedProxies == nil {
		if len(lines) > 0 {
			entry, _, _ := strings.Cut(lines[0], ",")
			if addr := parseIP(strings.TrimSpace(entry)); addr.IsValid() {
				return addr
			}
		}
		return peer
	}
	client := peer
	for i := len(lines) - 1; i >= 0; i-- {
		for rest := lines[i]; rest != ""; {
			if !s.trusts(client) {
				return client
			}
			before, entry := cutLast(rest)
			rest = before
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			addr := parseIP(entry)
			if !addr.IsValid() {
				return client // what stands before it can be anybody's claim
			}
			client = addr
		}
	}
	return client
}

// forwardedFor returns the lines of X-Forwarded-For, or else of a header that is
// literally called HTTP_X_FORWARDED_FOR.
func forwardedFor(h http.Header) []string {
	for _, name := range [...]string{"X-Forwarded-For", "Http_x_forwarded_for"} { // net/http's spelling of them
		if lines := h[name]; len(lines) > 0 && (len(lines) > 1 || lines[0] != "") {
			return lines
		}
	}
	return nil
}

// cutLast cuts a list at its last comma. Without a comma all of it is the entry.
func cutLast(list string) (before, entry string) {
	i := strings.LastIndexByte(list, ',')
	return list[:max(i, 0)], list[i+1:]
}

// trusts reports whether an address is of a listed proxy.
func (s *Server) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(s.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseIP reads an address with or without a port, an IPv6 address also in
// brackets. IPv4 in IPv6 becomes IPv4; zones are dropped.
func parseIP(s string) netip.Addr {
	if strings.Count(s, ":") == 1 { // IPv4 with a port, as net/http has it; errors cost memory
		withPort, _ := netip.ParseAddrPort(s)
		return withPort.Addr()
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
			addr, err = netip.ParseAddr(inner[:len(inner)-1])
			if err == nil && !addr.Is6() {
				return netip.Addr{}
			}
		} else {
			var withPort netip.AddrPort
			withPort, err = netip.ParseAddrPort(s)
			addr = withPort.Addr()
		}
	}
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}
